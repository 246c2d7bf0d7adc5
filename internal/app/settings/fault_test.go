package settings_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/app/settings"
)

func TestLocateTellsWhereAValueWasGiven(t *testing.T) {
	path := write(t, "listen = \"x:1\"\nqueue = 5\njobs = 3\n\n[presets.card]\nsizes = \"3x2\"\n")
	loaded, err := settings.Load([]string{"SPILLWAY_QUEUE=7"}, path)
	if err != nil {
		t.Fatal(err)
	}
	faults := errors.Join(
		&settings.Error{Key: "listen", What: "is odd"},
		errors.Join(errors.New("queue: 7 is odd"), errors.New("jobs: 3 is odd")),
		&settings.Error{Key: "data", What: "nobody gave it"},
		&settings.Error{Key: "max-page", What: "was found by Load", Origin: "there"},
		errors.New("presets.card.sizes: is odd"),
		errors.New("presets.card.quality: stands nowhere, but its table does"),
	)
	want := fmt.Sprintf(`listen: is odd (%[1]s line 1)
queue: 7 is odd (environment SPILLWAY_QUEUE)
jobs: 3 is odd (flag --jobs)
data: nobody gave it
max-page: was found by Load (there)
presets.card.sizes: is odd (%[1]s line 6)
presets.card.quality: stands nowhere, but its table does (%[1]s line 5)`, path)
	if diff := cmp.Diff(want, loaded.Locate(faults, map[string]string{"jobs": "flag --jobs"}).Error()); diff != "" {
		t.Errorf("faults differ (-want +got):\n%s", diff)
	}
	if err := loaded.Locate(nil, nil); err != nil {
		t.Errorf("no fault became %v", err)
	}
}

func TestAFileThatCannotBeReadIsTheFaultOfWhatNamesIt(t *testing.T) {
	folder := t.TempDir()
	_, err := settings.Load([]string{"SPILLWAY_CONFIG=" + folder}, "")
	if want := `config: "` + folder + `" is a folder and not a file (environment SPILLWAY_CONFIG)`; err == nil || err.Error() != want {
		t.Errorf("fault = %v, want %q", err, want)
	}
	_, err = settings.Load([]string{"SPILLWAY_CONFIG=" + os.DevNull}, folder)
	if want := `config: "` + folder + `" is a folder and not a file`; err == nil || err.Error() != want {
		t.Errorf("fault = %v, want %q", err, want)
	}
}
