package fleet_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

// writeDocument regenerates the table: go test ./fleet -run Document -write
var writeDocument = flag.Bool("write", false, "write the table of the scheduler's keys in docs/config.md anew")

const (
	document  = "../docs/config.md"
	beginMark = "<!-- scheduler keys -->\n"
	endMark   = "<!-- end of scheduler keys -->\n"
)

func TestTheDocumentListsEveryKeyOfTheFileAsItIs(t *testing.T) {
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), beginMark)
	have, after, closed := strings.Cut(rest, endMark)
	if !ok || !closed {
		t.Fatalf("%s has no keys between its marks", document)
	}
	if *writeDocument {
		if err := os.WriteFile(document, []byte(before+beginMark+keyTable()+endMark+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(keyTable(), have); diff != "" {
		t.Errorf("the document differs from the keys; run go test ./fleet -run Document -write (-want +got):\n%s", diff)
	}
}

func keyTable() string {
	var b strings.Builder
	b.WriteString("\n| Key | Default | Unit | Meaning |\n|---|---|---|---|\n")
	for _, k := range fleet.Keys() {
		def := "none"
		if k.Default != "" {
			def = "`" + k.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, def, k.Unit, k.Help)
	}
	return b.String() + "\n"
}

func TestEveryKeyOfTheShippedFilesIsDocumented(t *testing.T) {
	known := map[string]bool{}
	for _, k := range fleet.Keys() {
		if known[k.Path] || k.Help == "" {
			t.Errorf("%s is there twice, or has no meaning", k.Path)
		}
		known[k.Path] = true
	}
	for _, path := range []string{
		"queues.*.baseline_workers", "cloud_providers.aws.spot_max_price", "cloud_providers.google.preemptible", "cloud_providers.ionos.ram_mb",
		"cloud_providers.hook.command", "cloud_providers.process.slots", "scaling_rules.scale_down.idle_minutes", "alerts.channels[].template",
	} {
		if !known[path] {
			t.Errorf("%s is not documented", path)
		}
	}
}
