package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// maxFile bounds the file of settings; a real one has a few kilobytes.
const maxFile = 1 << 20

// usualFiles are looked at when no file is named, first match wins.
var usualFiles = []string{"spillway.toml", "/etc/spillway/spillway.toml"}

// presetsTable is the one table of the file; all else is flat.
const presetsTable = "presets"

// findFile picks the file. A named one must exist, the usual ones need not.
func findFile(named, byEnvironment string) (string, error) {
	if named == "" {
		named = byEnvironment
	}
	if named != "" {
		return named, nil
	}
	for _, path := range usualFiles {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for settings: %w", err)
		}
	}
	return "", nil
}

// readFile takes every key of the file at path and answers all its faults.
// origin is where the path itself was given.
func (l *Loaded) readFile(path, origin string) []error {
	source, err := readBounded(path)
	if err != nil {
		return []error{&Error{Key: "config", What: fmt.Sprintf("%q %s", path, cmp.Or(unreadable(path, false), err.Error())), Origin: origin}}
	}
	values := map[string]any{}
	if _, err := toml.Decode(source, &values); err != nil {
		return []error{syntaxFault(path, err)}
	}
	lines := keyLines(source)
	l.at = place{path, lines}
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return lines[a] - lines[b] })
	var faults []error
	for _, key := range keys {
		faults = append(faults, l.readKey(key, values[key])...)
	}
	return faults
}

func readBounded(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	source, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(source) > maxFile {
		err = fmt.Errorf("has more than %d bytes", maxFile)
	}
	return string(source), err
}

func syntaxFault(path string, err error) error {
	if fault, ok := errors.AsType[toml.ParseError](err); ok {
		return fmt.Errorf("%s line %d: not valid TOML: %s", path, fault.Position.Line, fault.Message)
	}
	return fmt.Errorf("%s: not valid TOML: %w", path, err)
}

// place names a key's line in its file.
type place struct {
	path  string
	lines map[string]int
}

// of is the line of key, or of the table it stands in.
func (p place) of(key string) string {
	for {
		if line := p.lines[key]; line > 0 {
			return p.path + " line " + strconv.Itoa(line)
		}
		dot := strings.LastIndexByte(key, '.')
		if dot < 0 {
			return p.path
		}
		key = key[:dot]
	}
}

func (p place) fault(key, format string, args ...any) *Error {
	return &Error{Key: key, What: fmt.Sprintf(format, args...), Origin: p.of(key)}
}

func (l *Loaded) readKey(key string, value any) []error {
	if key == presetsTable {
		return l.readPresets(value)
	}
	all := All()
	index := slices.IndexFunc(all, func(s Setting) bool { return s.Key == key })
	if index < 0 {
		known := []string{presetsTable}
		for _, s := range all {
			known = append(known, s.Key)
		}
		return []error{l.at.fault(key, "no such setting%s", nearest(key, known))}
	}
	s := all[index]
	text, ok := s.textOf(value)
	fault := s.fault(value)
	if ok {
		fault = s.set(&Config{}, text)
	}
	if fault != nil {
		fault.Origin = l.at.of(key)
		return []error{fault}
	}
	l.values[key] = layered{text, l.at.of(key)}
	return nil
}

// textOf turns a TOML value into the text the setting reads. A value of
// another type is refused, so that jobs = "4" does not pass for a number.
func (s Setting) textOf(value any) (text []string, ok bool) {
	if s.List {
		return listOf(value)
	}
	switch s.Allowed {
	case "true or false":
		flag, ok := value.(bool)
		return []string{strconv.FormatBool(flag)}, ok
	case "a whole number":
		number, ok := value.(int64)
		return []string{strconv.FormatInt(number, 10)}, ok
	}
	if number, isNumber := value.(int64); isNumber && s.Allowed == bytesAllowed {
		return []string{strconv.FormatInt(number, 10)}, true
	}
	only, ok := value.(string)
	return []string{only}, ok
}

func listOf(value any) (list []string, ok bool) {
	elements, ok := value.([]any)
	if !ok {
		return nil, false
	}
	list = []string{}
	for _, element := range elements {
		text, isText := element.(string)
		if !isText {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// readPresets turns each table under presets into a query.
func (l *Loaded) readPresets(value any) []error {
	tables, ok := value.(map[string]any)
	if !ok {
		return []error{l.at.fault(presetsTable, "must hold tables such as [presets.card]")}
	}
	var faults []error
	for name, table := range tables {
		path := presetsTable + "." + name
		parameters, ok := table.(map[string]any)
		if !ok {
			faults = append(faults, l.at.fault(path, "must be a table of parameters"))
			continue
		}
		query := url.Values{}
		for key, value := range parameters {
			text, ok := parameterText(value)
			if !ok {
				faults = append(faults, l.at.fault(path+"."+key, "must be a text, a number, true or false"))
				continue
			}
			query.Set(key, text)
		}
		l.presets[name] = query.Encode()
	}
	return faults
}

func parameterText(value any) (text string, ok bool) {
	switch value.(type) {
	case string, int64, float64, bool:
		return fmt.Sprint(value), true
	case time.Time:
		return "", false
	}
	return "", false
}

// keyLines finds the line of each key, tables joined by dots. The decoder
// does not tell positions of keys. The file of settings is flat and has no
// multi-line texts, so reading it line by line is enough for a message.
func keyLines(source string) map[string]int {
	lines, table := map[string]int{}, ""
	number := 0
	for line := range strings.SplitSeq(source, "\n") {
		number++
		line = strings.TrimSpace(line)
		if header, ok := strings.CutPrefix(line, "["); ok {
			table = bareKey(strings.SplitN(header, "]", 2)[0])
			note(lines, table, number)
			note(lines, strings.SplitN(table, ".", 2)[0], number)
			table += "."
		} else if key, _, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			note(lines, table+bareKey(key), number)
			note(lines, strings.SplitN(table+bareKey(key), ".", 2)[0], number)
		}
	}
	return lines
}

// note keeps the first line a key was seen on.
func note(lines map[string]int, key string, number int) {
	if lines[key] == 0 {
		lines[key] = number
	}
}

func bareKey(key string) string {
	return strings.NewReplacer(`"`, "", `'`, "", " ", "").Replace(strings.TrimSpace(key))
}
