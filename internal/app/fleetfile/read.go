package fleetfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	_ "time/tzdata" // the key timezone must mean the same on a machine without that database

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/notify"
)

// Usual is where the file is when no other is named.
const Usual = "/etc/hypermedia/scheduler.json"

const (
	maxFile = 1 << 20
	maxKey  = 4 << 10
	// minKey is the shortest key that a webhook is signed with: 128 bits.
	minKey = 16
)

// Settings are one reading of the file, with the keys that it points to.
type Settings struct {
	fleet.Config
	// Channels are those of Alerts, each with its key.
	Channels []notify.Channel
}

// Read takes the file at path, Usual when that is empty: who could have written
// it, every key, the templates and key files of alert channels. All faults come
// joined, each with its JSON path.
func Read(path string) (Settings, error) {
	path, err := placeOf(path)
	if err != nil {
		return Settings{}, err
	}
	if err := trusted(path); err != nil {
		return Settings{}, err
	}
	content, err := readBounded(path, maxFile)
	if err != nil {
		return Settings{}, fmt.Errorf("read %s: %w", path, bare(err))
	}
	return parse(content)
}

// placeOf is absolute and without dots, so that what is opened is what was looked at.
func placeOf(path string) (string, error) {
	at, err := filepath.Abs(cmp.Or(path, Usual))
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	return at, nil
}

func parse(content []byte) (Settings, error) {
	cfg, err := fleet.Parse(content)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{Config: cfg}
	var faults []error
	for i, c := range cfg.Alerts.Channels {
		path := fmt.Sprintf("alerts.channels[%d]", i)
		key, fault := readKey(c)
		if fault != "" {
			faults = append(faults, &fleet.KeyError{Path: path + ".key_file", Problem: fault})
		}
		if err := notify.CheckTemplate(c.Template); err != nil {
			faults = append(faults, &fleet.KeyError{Path: path + ".template", Problem: err.Error()})
		}
		s.Channels = append(s.Channels, notify.Channel{Channel: c, Key: key})
	}
	if len(faults) > 0 {
		return Settings{}, errors.Join(faults...)
	}
	return s, nil
}

// readKey is the key of a channel, without the line's end that editors add.
func readKey(c fleet.Channel) (key []byte, fault string) {
	if c.KeyFile == "" {
		return nil, ""
	}
	path, err := placeOf(c.KeyFile)
	if err == nil {
		err = trusted(path)
	}
	if err != nil {
		return nil, "cannot be taken: " + err.Error()
	}
	key, err = readBounded(path, maxKey)
	if err != nil {
		return nil, "cannot be read: " + bare(err).Error()
	}
	key = bytes.TrimRight(key, "\r\n")
	if len(key) < minKey {
		return nil, fmt.Sprintf("holds %d bytes; it must hold %d or more", len(key), minKey)
	}
	return key, ""
}

func readBounded(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return content, err
}

// bare takes the path off an error that is told together with it.
func bare(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
