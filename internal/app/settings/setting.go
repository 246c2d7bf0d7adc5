package settings

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// envPrefix begins the name of every environment variable of the program.
const envPrefix = "SPILLWAY_"

// Setting describes one field of Groups: one row of docs/config.md.
type Setting struct {
	Key     string // name in the file; also the flag's, with two dashes
	Group   string
	Default string
	Help    string
	Allowed string // what a value may be, to end the sentence "must be …"
	Secret  bool   // never printed
	Masked  bool   // printed without the password in it
	Flag    bool   // may be given on the command line
	List    bool   // takes several values
	enum    []string
	index   []int
}

// Env is the name of the setting's environment variable.
func (s Setting) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Key, "-", "_"))
}

// All lists the settings in the order of Groups.
func All() []Setting {
	var all []Setting
	groups := reflect.TypeFor[Groups]()
	for i := range groups.NumField() {
		group := groups.Field(i)
		for j := range group.Type.NumField() {
			all = append(all, describe(group.Type.Field(j), group.Tag.Get("group"), []int{i, j}))
		}
	}
	return all
}

func describe(field reflect.StructField, group string, index []int) Setting {
	_, secret := field.Tag.Lookup("secret")
	_, masked := field.Tag.Lookup("masked")
	s := Setting{
		Key: field.Tag.Get("name"), Group: group, Default: field.Tag.Get("default"),
		Help: field.Tag.Get("help"), Allowed: allowed(field.Type), Secret: secret, Masked: masked,
		Flag: field.Tag.Get("kong") != "-", List: field.Type.Kind() == reflect.Slice, index: index,
	}
	if names := field.Tag.Get("enum"); names != "" {
		s.enum = strings.Split(names, ",")
		s.Allowed = "one of " + strings.Join(s.enum, ", ")
	}
	return s
}

func allowed(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "a time such as 500ms, 20s or 2m"
	case reflect.TypeFor[Bytes]():
		return bytesAllowed
	case reflect.TypeFor[Share]():
		return shareAllowed
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list of texts"
	}
	return "a text"
}

// Text writes the setting's value in c the way it can be read back.
func (s Setting) Text(c Config) string {
	value := reflect.ValueOf(c.Groups).FieldByIndex(s.index)
	switch value := value.Interface().(type) {
	case []string:
		return strings.Join(value, ",")
	case time.Duration:
		return shortDuration(value)
	}
	return fmt.Sprint(value.Interface())
}

// Shown is the value in c as anybody may see it.
func (s Setting) Shown(c Config) string {
	text := s.Text(c)
	switch {
	case s.Secret && text != "":
		return hidden
	case s.Masked:
		return mask(text)
	}
	return text
}

// hidden stands for a value that is not printed.
const hidden = "(set, not shown)"

// shortDuration drops the zero minutes and seconds that String writes.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// set reads text into the setting's field of c. Lists take every element of
// text, all other kinds its only one. The fault does not repeat a secret.
func (s Setting) set(c *Config, text []string) *Error {
	target := reflect.ValueOf(&c.Groups).Elem().FieldByIndex(s.index)
	if s.List {
		target.Set(reflect.ValueOf(text))
		return nil
	}
	if parse(target, text[0]) != nil || !s.inEnum(text[0]) {
		return s.fault(text[0])
	}
	return nil
}

func (s Setting) inEnum(text string) bool {
	for _, name := range s.enum {
		if name == text {
			return true
		}
	}
	return len(s.enum) == 0
}

func (s Setting) fault(value any) *Error {
	if text, ok := value.(string); ok {
		value = strconv.Quote(text) // tells "4" from 4, and shows an empty one
	}
	if s.Secret || s.Masked {
		value = "its value"
	}
	return &Error{Key: s.Key, What: fmt.Sprintf("%v is not allowed; it must be %s", value, s.Allowed)}
}

func parse(target reflect.Value, text string) error {
	switch value := target.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return value.UnmarshalText([]byte(text))
	case *time.Duration:
		parsed, err := time.ParseDuration(text)
		*value = parsed
		return err
	case *bool:
		parsed, err := strconv.ParseBool(text)
		*value = parsed
		return err
	case *string:
		*value = text
		return nil
	}
	parsed, err := strconv.ParseInt(text, 10, 64)
	target.SetInt(parsed)
	return err
}
