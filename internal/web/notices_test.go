package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/browser"
	"github.com/spillway-media/spillway/internal/browser/browsertest"
)

// TestBrokenPicturesAreShownCalmly: what the server cannot read has a
// placeholder in the strip, and no icon of the browser's.
func TestBrokenPicturesAreShownCalmly(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "broken.jpg"), []byte("no picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := startProgram(t, "--source-root", root)
	p := open(t, browsertest.Start(t, browser.Options{}), desktop)
	p.visit(base + "/")
	p.wait(`document.querySelector("#strip img")?.src.endsWith("/playground/blank.svg") && document.querySelector("#strip img").naturalWidth > 0`)
	p.wait(`!document.getElementById("finder-img").hasAttribute("src")`)
	p.wait(`document.getElementById("problem-status").textContent === "415"`)
	if got := p.text(`document.querySelector("#strip input").getAttribute("aria-label")`); got != "broken.jpg, cannot be shown" {
		t.Errorf("a reader is told %q", got)
	}
	p.Complaints() // the browser's own, about the three answers
}

// TestSigningKeysAreToldOnce: the page has no key, so it asks for nothing that
// would be refused.
func TestSigningKeysAreToldOnce(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := startProgram(t, "--signature-key-file", keys)
	p := open(t, browsertest.Start(t, browser.Options{}), desktop)
	p.visit(base + "/#key=dew.jpg&w=300")
	p.wait(`document.getElementById("problem-title").textContent === "This server takes signed URLs only"`)
	if got := p.text(`document.getElementById("problem-detail").textContent`); !strings.Contains(got, "spillway sign --key-file") {
		t.Errorf("the notice says %q", got)
	}
	p.set("#quality", "50")
	p.wait(snippet + ` === ` + quote(base+"/assets/dew.jpg?sizes=300x0&quality=50"))
	p.set("[data-for=\"w\"]", "400")
	p.wait(snippet + `.includes("sizes=400x0")`)
	if asked := p.text(`performance.getEntriesByType("resource").map((e) => new URL(e.name).pathname).filter((path) => /^\/(assets|resize|info)/.test(path)).join(" ")`); asked != "" {
		t.Errorf("asked for %s", asked)
	}
	p.quiet() // no 403 at all
}
