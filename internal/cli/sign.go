package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/httpapi"
)

// signCommand signs a URL the way the server checks it.
type signCommand struct {
	layers
	Target  string        `arg:"" name:"path" help:"Path and query as they will be sent, such as '/resize?image_url=a.jpg&sizes=300x0', or a whole URL."`
	KeyFile string        `name:"key-file" placeholder:"FILE" help:"File of keys, of which the first signs; otherwise the keys of the settings."`
	Expires time.Duration `name:"expires" placeholder:"TIME" help:"Let the URL expire after this time, such as 1h."`
}

// Run prints the signed URL, and nothing else.
func (c *signCommand) Run(s *session) error {
	keys, err := c.keys()
	if err != nil {
		return err
	}
	base, target, err := splitTarget(c.Target)
	if err != nil {
		return err
	}
	if c.Expires != 0 {
		if target, err = withExpiry(target, c.Expires, time.Now()); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(s.Stdout, base+httpapi.SignURL(keys[0], target))
	return err
}

func (c *signCommand) keys() ([][]byte, error) {
	if c.KeyFile != "" {
		keys, err := settings.Signing{SignatureKeyFile: c.KeyFile}.Keys()
		if fault, ok := errors.AsType[*settings.Error](err); ok {
			return nil, usagef("--key-file: %s", fault.What)
		}
		return keys, err
	}
	keys, err := c.loaded.Config().Keys()
	if err != nil {
		return nil, c.locate(err)
	}
	if len(keys) == 0 {
		return nil, usagef("no key to sign with: give --key-file, or signature-key-file in the settings")
	}
	return keys, nil
}

// splitTarget cuts a whole URL into what stays in front and what is signed.
// Bytes that a client would change on the way are refused, because the
// signature holds for exactly these.
func splitTarget(target string) (base, path string, err error) {
	path = target
	if scheme := strings.Index(target, "://"); scheme > 0 && !strings.HasPrefix(target, "/") {
		slash := strings.IndexByte(target[scheme+3:], '/')
		if slash < 0 {
			return "", "", usagef("%q has no path to sign; %s", target, signable)
		}
		base, path = target[:scheme+3+slash], target[scheme+3+slash:]
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return "", "", usagef("%q does not begin with a slash; %s", target, signable)
	case !httpapi.TakesSignature(path):
		return "", "", usagef("%q needs no signature, as the server answers it without one or not at all; %s", target, signable)
	case strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }):
		return "", "", usagef("the path holds bytes that a client will encode on the way; percent-encode spaces, # and letters beyond ASCII first")
	case strings.Contains(path, "?signature=") || strings.Contains(path, "&signature="):
		return "", "", usagef("the path has a signature already")
	}
	return base, path, nil
}

// signable is what may be signed, to end a sentence.
const signable = "what is signed is /resize?image_url=…, /srcset?image_url=…, /info?image_url=… or /assets/KEY, or a whole URL of one of them"

func withExpiry(target string, after time.Duration, now time.Time) (string, error) {
	if after < time.Second {
		return "", usagef("--expires: %s is not a second or more; give a time such as 1h or 30m", after)
	}
	if strings.Contains(target, "?expires=") || strings.Contains(target, "&expires=") {
		return "", usagef("the path has an expiry already")
	}
	mark := "?"
	if strings.Contains(target, "?") {
		mark = "&"
	}
	return target + mark + "expires=" + strconv.FormatInt(now.Add(after).Unix(), 10), nil
}
