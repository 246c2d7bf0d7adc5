package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/media"
)

// convertCommand makes pictures of files.
type convertCommand struct {
	layers
	In        []string `arg:"" name:"in" help:"Files, or folders with --recursive."`
	Out       string   `name:"out" short:"o" required:"" placeholder:"DIR" help:"Folder for the results; made when it is not there."`
	Recursive bool     `name:"recursive" short:"r" help:"Go into folders, and keep their layout below the results' folder."`
	JSON      bool     `name:"json" help:"Print one JSON line a file, and one for the whole."`

	Picture picture  `embed:"" group:"Picture"`
	Preset  string   `name:"preset" group:"Picture" placeholder:"NAME" help:"Preset of the file of settings to start from."`
	Set     []string `name:"set" group:"Picture" sep:"none" placeholder:"KEY=VALUE" help:"Any other parameter of a picture URL; repeatable."`

	Work     settings.Work     `embed:"" group:"Work and memory"`
	Spooling settings.Spooling `embed:"" group:"Files"`
	Limits   settings.Limits   `embed:"" group:"Limits of one request"`
}

// Help is the rest of what --help tells.
func (c *convertCommand) Help() string {
	return `A result is named NAME-WxH.EXT by its original's name and the size asked for, or NAME.EXT when the original size is kept. Originals that differ in their endings only keep them: a.png and a.tif make a.png-300x0.webp and a.tif-300x0.webp.

Results of an earlier run are replaced; an original never is. All results of a file appear together once the last is written. Files that cannot be converted are told and do not stop the others; the exit code is then 1.`
}

// picture is the parameters of a picture URL as flags of the same name, with
// dashes for underscores. An empty one is left to its default.
type picture struct {
	Sizes      string `name:"sizes" placeholder:"WxH,…" help:"Sizes to make, such as 300x0,1200x0; a side of 0 keeps the ratio."`
	Format     string `name:"format" placeholder:"FORMAT" help:"webp, jpeg, png, avif, gif, jxl or tiff; otherwise the original's own where it can be written, else JPEG or PNG."`
	Quality    string `name:"quality" placeholder:"1-100" help:"Quality of the encoder."`
	Fit        string `name:"fit" placeholder:"FIT" help:"inside, cover, contain, fill or outside."`
	Gravity    string `name:"gravity" placeholder:"WHERE" help:"What a crop keeps: center, north, …, attention, entropy or X,Y."`
	Enlarge    bool   `name:"enlarge" help:"Enlarge pictures smaller than their size."`
	Crop       string `name:"crop" placeholder:"X,Y,W,H" help:"Area to cut first."`
	Rotate     string `name:"rotate" placeholder:"DEGREES" help:"Turn clockwise by 90, 180 or 270."`
	Flip       bool   `name:"flip" help:"Mirror top to bottom."`
	Flop       bool   `name:"flop" help:"Mirror left to right."`
	Trim       string `name:"trim" placeholder:"1-255" help:"Cut borders that differ from the corner by less."`
	DPR        string `name:"dpr" placeholder:"N" help:"Multiply every size."`
	Background string `name:"background" placeholder:"COLOUR" help:"Colour under transparency and of the bars of contain, such as ffffff."`
	Blur       string `name:"blur" placeholder:"SIGMA" help:"Blur, 0.3 to 250 pixels of the result."`
	Sharpen    string `name:"sharpen" placeholder:"SIGMA" help:"Sharpen, 0.3 to 10 pixels of the result."`
	Grayscale  bool   `name:"grayscale" help:"Take the colours out."`
	Linear     bool   `name:"linear" help:"Resize in linear light."`
	Shrink     string `name:"shrink" placeholder:"HOW" help:"How far a JPEG or WebP is scaled down while it is decoded: fine, fast or none."`
	SSIM       string `name:"ssim" placeholder:"0.9-0.999" help:"Find the quality at which a result is that like the picture."`
	MaxBytes   string `name:"max-bytes" placeholder:"N" help:"Lower the quality until a result is no larger."`
	Lossless   bool   `name:"lossless" help:"Encode without loss where the format can."`
	Effort     string `name:"effort" placeholder:"0-9" help:"Time spent on making results small; 0 is fastest."`
	Page       string `name:"page" placeholder:"N" help:"Page or frame to start from."`
	Frames     string `name:"frames" placeholder:"N" help:"Frames to keep of an animation."`
	Keep       string `name:"keep" placeholder:"WHAT,…" help:"Metadata to keep, such as exif,icc,copyright."`
}

// query is the parameters the flags give.
func (p picture) query() url.Values {
	query, value := url.Values{}, reflect.ValueOf(p)
	for i := range value.NumField() {
		name := strings.ReplaceAll(value.Type().Field(i).Tag.Get("name"), "-", "_")
		switch field := value.Field(i); {
		case field.Kind() == reflect.Bool && field.Bool():
			query.Set(name, "true")
		case field.Kind() == reflect.String && field.String() != "":
			query.Set(name, field.String())
		}
	}
	return query
}

// Run converts every file it can and fails when there was one it could not.
func (c *convertCommand) Run(ctx context.Context, s *session) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	request, err := c.request(config)
	if err != nil {
		return err
	}
	work, faults := findInputs(c.In, c.Out, c.Recursive)
	claim(work, request.Format)
	local, err := app.NewLocal(config, app.NewLogger(config.Observing, s.Stderr, terminal(s.Stderr)))
	if err != nil {
		return err
	}
	var workers errgroup.Group
	workers.Go(func() error { return local.Run(ctx) })
	defer func() {
		local.Close()
		_ = workers.Wait() // each file's fault is in the report
	}()
	report := newReport(s, c.JSON, len(work))
	for _, fault := range faults {
		report.add(fault)
	}
	c.convertAll(ctx, &converter{local, request, c.Out, newNames(work)}, work, report)
	return report.close(ctx)
}

// convertAll keeps all jobs busy until the files are done or ctx ends.
func (c *convertCommand) convertAll(ctx context.Context, with *converter, work []input, report *report) {
	var group errgroup.Group
	group.SetLimit(with.local.Jobs())
	for _, in := range work {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			report.add(with.convert(ctx, in))
			return nil
		})
	}
	_ = group.Wait() // a file's fault is in the report
}

// config is the settings with this command's flags laid over.
func (c *convertCommand) config() (settings.Config, error) {
	config := c.loaded.Config()
	config.Work, config.Spooling, config.Limits = c.Work, c.Spooling, c.Limits
	return config, c.locate(app.Check(config))
}

// request is what to make of every file: a preset, flags over it, and --set
// over those.
func (c *convertCommand) request(config settings.Config) (media.Request, error) {
	query, err := c.preset(config)
	if err != nil {
		return media.Request{}, err
	}
	givenBy := map[string]string{}
	for name := range query {
		givenBy[name] = "--preset " + c.Preset + ": " + name
	}
	for name, values := range c.Picture.query() {
		query[name], givenBy[name] = values, "--"+strings.ReplaceAll(name, "_", "-")
	}
	for _, pair := range c.Set {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return media.Request{}, usagef("--set %s: write KEY=VALUE", pair)
		}
		query.Set(name, value)
		givenBy[name] = "--set " + name
	}
	var faults []error
	for _, fault := range media.Faults(query, config.Media()) {
		faults = append(faults, flagFault(fault, givenBy))
	}
	if len(faults) > 0 {
		return media.Request{}, usageError{errors.Join(faults...)}
	}
	request, err := media.Parse(query, config.Media())
	if err != nil {
		return media.Request{}, err
	}
	return request, sizesOnce(request.Sizes)
}

// preset is the parameters to start from. Each alone is sound: config has
// checked the settings.
func (c *convertCommand) preset(config settings.Config) (url.Values, error) {
	if c.Preset == "" {
		return url.Values{}, nil
	}
	preset, ok := config.Presets[c.Preset]
	if !ok {
		return nil, usagef("--preset: the settings have no preset %q", c.Preset)
	}
	values, err := url.ParseQuery(preset)
	if err != nil {
		return nil, fmt.Errorf("read preset %s: %w", c.Preset, err)
	}
	return values, nil
}

// flagFault words a fault of a parameter as one of what gave it.
func flagFault(err error, givenBy map[string]string) error {
	fault, ok := errors.AsType[*media.Error](err)
	if !ok || givenBy[fault.Param] == "" {
		return errors.New(explain(err))
	}
	what := strings.TrimSuffix(strings.TrimPrefix(fault.Detail, fault.Param+": "), ".")
	return fmt.Errorf("%s: %s", givenBy[fault.Param], what)
}

// sizesOnce refuses a size given twice, whose results would have one name.
func sizesOnce(sizes []media.Size) error {
	seen := map[media.Size]bool{}
	for _, size := range sizes {
		if seen[size] {
			return usagef("--sizes: %dx%d is given twice", size.Width, size.Height)
		}
		seen[size] = true
	}
	return nil
}

// explain is the sentence of an error that is meant for a user.
func explain(err error) string {
	if fault, ok := errors.AsType[*media.Error](err); ok {
		return fault.Detail
	}
	return err.Error()
}
