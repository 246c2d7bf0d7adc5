package app

import (
	"log/slog"

	"github.com/spillway-media/spillway/internal/app/settings"
)

// warnOfGaps tells of settings that a process can begin without, and whoever
// left them out will find missing only later, in jobs that fail or outputs that
// are not there.
func warnOfGaps(c settings.Config, role Role, log *slog.Logger) {
	if c.SourceRoot == "" && len(c.AllowSource) == 0 {
		if role == Work {
			log.Warn("jobs find no originals", "reason", "neither source-root nor allow-source is set; serve and work need the same")
		} else {
			log.Warn("nothing to serve", "reason", "neither source-root nor allow-source is set")
		}
	}
	if c.Database != "" && c.SQLiteFile() == "" && c.Blob == "" {
		log.Warn("blobs lie in a folder of this process", "folder", c.Blobs(),
			"reason", "blob is not set; all processes of a database need the same")
	}
}
