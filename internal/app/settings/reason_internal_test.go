package settings

import (
	"io/fs"
	"strings"
	"testing"
)

// A test may run as a user for whom nothing is forbidden.
func TestMissingAndForbiddenAreToldApart(t *testing.T) {
	if got := reason(&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}); !strings.Contains(got, "may not be read") {
		t.Errorf("forbidden %s", got)
	}
	if got := reason(&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}); got != "does not exist" {
		t.Errorf("missing %s", got)
	}
}
