package cli

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/spillway-media/spillway/internal/sandbox"
)

// tool is another project's program that some work needs.
type tool struct {
	Name    string `json:"name"`
	For     string `json:"for"`
	Found   bool   `json:"found"`
	Version string `json:"version,omitempty"`
	// Fault is set when the tool is there but does not run.
	Fault   string `json:"fault,omitempty"`
	Install string `json:"install,omitempty"`
	ask     string
	pack    map[string]string
}

// tools are what the program can make use of, and the package that has each
// under every package manager we know.
func tools() []tool {
	ffmpeg := map[string]string{"apt-get": "ffmpeg", "brew": "ffmpeg", "dnf": "ffmpeg-free", "apk": "ffmpeg"}
	poppler := map[string]string{"apt-get": "poppler-utils", "brew": "poppler", "dnf": "poppler-utils", "apk": "poppler-utils"}
	tesseract := map[string]string{"apt-get": "tesseract-ocr", "brew": "tesseract", "dnf": "tesseract", "apk": "tesseract-ocr"}
	return []tool{
		{Name: "ffmpeg", For: "video, not in this version", ask: "-version", pack: ffmpeg},
		{Name: "ffprobe", For: "video, not in this version", ask: "-version", pack: ffmpeg},
		{Name: "pdftoppm", For: "documents, not in this version", ask: "-v", pack: poppler},
		{Name: "tesseract", For: "text in pictures, not in this version", ask: "--version", pack: tesseract},
	}
}

// installers are tried in this order; each comes with the words before a
// package's name.
var installers = []struct{ program, command string }{
	{"apt-get", "sudo apt-get install -y"},
	{"brew", "brew install"},
	{"dnf", "sudo dnf install -y"},
	{"apk", "sudo apk add"},
}

// installCommand is how to get a package here, empty where no package manager
// is known.
func installCommand(pack map[string]string) string {
	for _, installer := range installers {
		if _, err := sandbox.Find(installer.program); err == nil && pack[installer.program] != "" {
			return installer.command + " " + pack[installer.program]
		}
	}
	return ""
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+\S*`)

// look finds the tool and asks its version.
func (t tool) look(ctx context.Context) tool {
	output, err := sandbox.Run(ctx, sandbox.Limits{}, t.Name, t.ask)
	switch {
	case errors.Is(err, sandbox.ErrMissing):
		t.Install = installCommand(t.pack)
	case err != nil:
		t.Found, t.Fault = true, "does not run: "+firstLine(string(output.Stderr)+err.Error())
	default:
		t.Found = true
		// Some tools print their version as an error.
		t.Version = versionNumber.FindString(firstLine(string(output.Stdout) + string(output.Stderr)))
	}
	return t
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
