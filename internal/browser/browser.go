package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Options say how a browser is run. The zero value reaches 127.0.0.1 only.
type Options struct {
	// Prefix is put before the program, to run it elsewhere: for instance
	// "ip", "netns", "exec", "page". It has to hand descriptors 3 and 4 on.
	Prefix []string
	// Hosts are the only ones that can be reached; nil is 127.0.0.1.
	Hosts []string
	// AnyCertificate takes certificates that nobody vouches for.
	AnyCertificate bool
	// Flags are more of Chromium's own.
	Flags []string
}

// command is what is run. The flags of the second line keep Chromium from
// asking its makers for anything, which fails slowly where there is no network.
func (o Options) command(program, profile string) []string {
	hosts := o.Hosts
	if hosts == nil {
		hosts = []string{"127.0.0.1"}
	}
	command := append(slices.Clone(o.Prefix), program,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE "+strings.Join(hosts, " , EXCLUDE "),
		"--user-data-dir="+profile, "--remote-debugging-pipe")
	if o.AnyCertificate {
		command = append(command, "--ignore-certificate-errors")
	}
	return append(command, o.Flags...)
}

// Browser is a Chromium that runs. Close ends it.
type Browser struct {
	pipe    *pipe
	process *process
	profile string
}

// Start runs Chromium with a new profile. The context is for the start only.
func Start(ctx context.Context, o Options) (*Browser, error) {
	program, err := Find()
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp("", "spillway-browser-")
	if err != nil {
		return nil, fmt.Errorf("make profile folder: %w", err)
	}
	b := &Browser{profile: profile}
	if err := b.run(o.command(program, profile)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(profile))
	}
	if err := b.Call(ctx, "Browser.getVersion", nil, nil); err != nil {
		err = fmt.Errorf("greet Chromium: %w; it said: %s", err, b.process.stderr)
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Browser) run(command []string) error {
	theirRead, ourWrite, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe of commands: %w", err)
	}
	ourRead, theirWrite, err := os.Pipe()
	if err != nil {
		_, _ = theirRead.Close(), ourWrite.Close()
		return fmt.Errorf("make pipe of answers: %w", err)
	}
	b.pipe = newPipe(ourRead, ourWrite)
	if b.process, err = run(command, theirRead, theirWrite); err != nil {
		return errors.Join(err, b.pipe.close())
	}
	go b.pipe.read() // ends when Chromium does, which Close waits for
	return nil
}

// Call sends a command of the DevTools protocol to the browser and decodes the
// answer into out, where it is not nil.
func (b *Browser) Call(ctx context.Context, method string, params, out any) error {
	return b.pipe.call(ctx, "", method, params, out)
}

// Close ends Chromium and returns when the last of its processes is gone and
// its profile is removed. It takes seconds where something hangs, not longer.
func (b *Browser) Close() error {
	// Whether it hears this or not, it ends when its pipe does.
	_, _, _ = b.pipe.send("", "Browser.close", nil)
	err := b.process.await()
	<-b.pipe.done
	return errors.Join(err, b.pipe.close(), os.RemoveAll(b.profile))
}
