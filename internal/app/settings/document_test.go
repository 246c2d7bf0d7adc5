package settings_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/app/settings"
)

// writeDocument regenerates the tables: go test ./internal/app/settings -write
var writeDocument = flag.Bool("write", false, "write the tables of docs/config.md anew")

const (
	document  = "../../../docs/config.md"
	beginMark = "<!-- settings -->\n"
	endMark   = "<!-- end of settings -->\n"
)

func TestTheDocumentListsEverySettingAsItIs(t *testing.T) {
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), beginMark)
	have, after, closed := strings.Cut(rest, endMark)
	if !ok || !closed {
		t.Fatalf("%s has no settings between its marks", document)
	}
	if *writeDocument {
		if err := os.WriteFile(document, []byte(before+beginMark+tables()+endMark+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(tables(), have); diff != "" {
		t.Errorf("the document differs from the settings; run go test ./internal/app/settings -write (-want +got):\n%s", diff)
	}
}

// tables is the reference: one table a group, one row a setting.
func tables() string {
	var b strings.Builder
	group := ""
	for _, s := range settings.All() {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n### %s\n\n| Flag | Environment | Key | Default | Meaning |\n|---|---|---|---|---|\n", group)
		}
		name := "`--" + s.Key + "`"
		if !s.Flag {
			name = "none"
		}
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | %s | %s |\n", name, s.Env(), s.Key, shownDefault(s), meaning(s))
	}
	return b.String() + "\n"
}

func shownDefault(s settings.Setting) string {
	switch {
	case s.Default != "":
		return "`" + s.Default + "`"
	case s.Allowed == "true or false":
		return "`false`"
	}
	return "empty"
}

func meaning(s settings.Setting) string {
	text := strings.ReplaceAll(s.Help, "|", "\\|")
	if s.Secret {
		text += " Secret: never printed."
	}
	if s.Masked {
		text += " A password in it is never printed."
	}
	return text
}
