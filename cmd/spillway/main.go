// Command spillway is a media server; see internal/cli for its grammar.
package main

import (
	"context"
	"os"

	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/cli"
)

func main() {
	hurry := cli.NewHurry()
	ctx, stop := cli.WithSignals(context.Background(), hurry, os.Exit)
	code := cli.Main(ctx, os.Args[1:], cli.System{
		Stdout: os.Stdout, Stderr: os.Stderr, Environ: settings.Environment(), Hurry: hurry,
	})
	stop()
	os.Exit(code)
}
