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
	signing := c.loaded.Config().Signing
	if c.KeyFile != "" {
		signing = settings.Signing{SignatureKeyFile: c.KeyFile}
	}
	keys, err := signing.Keys()
	if err == nil && len(keys) == 0 {
		err = errors.New("no key to sign with: give --key-file, or signature-key-file in the settings")
	}
	return keys, err
}

// splitTarget cuts a whole URL into what stays in front and what is signed.
// Bytes that a client would change on the way are refused, because the
// signature holds for exactly these.
func splitTarget(target string) (base, path string, err error) {
	path = target
	if scheme := strings.Index(target, "://"); scheme > 0 && !strings.HasPrefix(target, "/") {
		slash := strings.IndexByte(target[scheme+3:], '/')
		if slash < 0 {
			return "", "", fmt.Errorf("%q has no path to sign", target)
		}
		base, path = target[:scheme+3+slash], target[scheme+3+slash:]
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return "", "", fmt.Errorf("%q does not begin with a slash", target)
	case strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' || r == '#' }):
		return "", "", errors.New("the path holds bytes that a client will encode on the way; percent-encode spaces, # and letters beyond ASCII first")
	case strings.Contains(path, "?signature=") || strings.Contains(path, "&signature="):
		return "", "", errors.New("the path has a signature already")
	}
	return base, path, nil
}

func withExpiry(target string, after time.Duration, now time.Time) (string, error) {
	if after < time.Second {
		return "", fmt.Errorf("--expires %s is not a second or more", after)
	}
	if strings.Contains(target, "?expires=") || strings.Contains(target, "&expires=") {
		return "", errors.New("the path has an expiry already")
	}
	mark := "?"
	if strings.Contains(target, "?") {
		mark = "&"
	}
	return target + mark + "expires=" + strconv.FormatInt(now.Add(after).Unix(), 10), nil
}
