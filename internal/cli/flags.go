package cli

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// wordFlags makes flags tell what they need in the words the settings have
// everywhere else, and the help of --help say what it does.
func wordFlags(parser *kong.Kong) error {
	parser.Model.HelpFlag.Help = "Show this help."
	known := newKnownSettings()
	for _, command := range parser.Model.Leaves(false) {
		for _, flag := range command.Flags {
			what := ownAllowed(flag)
			if s, ok := known.of(flag); ok {
				what = s.Allowed
			}
			flag.Mapper = newFlagReader(flag, what)
		}
	}
	return nil
}

// ownAllowed is what a flag of a command's own takes.
func ownAllowed(flag *kong.Flag) string {
	switch {
	case flag.Target.Type() == reflect.TypeFor[time.Duration]():
		return "a time such as 1h or 30m"
	case flag.Enum != "":
		// An empty value is that of a flag which is not given.
		return "one of " + strings.ReplaceAll(strings.TrimPrefix(flag.Enum, ","), ",", ", ")
	case flag.Target.Kind() == reflect.Int:
		return "a whole number"
	}
	return ""
}

// flagReader reads a flag's value by another mapper. kong puts the flag's name
// before what goes wrong.
type flagReader struct {
	kong.Mapper
	allowed string // completes "it must be"; empty where every text will do
	enum    []string
}

// boolReader is told apart by its method: a switch needs no value.
type boolReader struct{ flagReader }

// IsBool implements kong.BoolMapper.
func (boolReader) IsBool() bool { return true }

func newFlagReader(flag *kong.Flag, allowed string) kong.Mapper {
	r := flagReader{Mapper: flag.Mapper, allowed: allowed}
	if flag.Enum != "" {
		r.enum = strings.Split(flag.Enum, ",")
	}
	if !flag.IsBool() {
		return r
	}
	if r.allowed == "" {
		r.allowed = "true or false"
	}
	return boolReader{r}
}

var negativeNumber = regexp.MustCompile(`^-\.?\d`)

// Decode implements kong.Mapper. A number below zero is a value and no flag.
func (r flagReader) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	token := ctx.Scan.Peek()
	switch {
	case ctx.Value.IsBool():
	case negativeNumber.MatchString(token.String()):
		ctx.Scan.Pop()
		ctx.Scan.PushTyped(token.Value, kong.FlagValueToken)
	case !token.IsValue():
		return fmt.Errorf("needs a value%s", r.must())
	}
	err := r.Mapper.Decode(ctx, target)
	if err != nil || (r.enum != nil && !slices.Contains(r.enum, token.String())) {
		return fmt.Errorf("%q is not allowed%s", token.String(), r.must())
	}
	return nil
}

func (r flagReader) must() string {
	switch r.allowed {
	case "", "a text", "a list of texts": // which every value is
		return ""
	}
	return "; it must be " + r.allowed
}

// given tells of the settings on the command line, by name, that they stand there.
func given(command *kong.Context, known knownSettings) map[string]string {
	origins := map[string]string{}
	for _, part := range command.Path {
		if part.Flag == nil || part.Resolved {
			continue
		}
		if _, ok := known.of(part.Flag); ok || part.Flag.Name == "config" {
			origins[part.Flag.Name] = "flag --" + part.Flag.Name
		}
	}
	return origins
}
