package media

import (
	"slices"
	"strings"
)

// Parameter describes one parameter of a query, for documentation.
type Parameter struct {
	Name    string
	Syntax  string // what may be given
	Default string // what its absence means
	Meaning string
}

// parameter is a Parameter and how its value is read into a Request.
type parameter struct {
	Parameter
	read func(*reader, string) error
}

// Parameters lists all that Parse accepts, in the order of the documentation.
// Bounds in it are the default ones.
func Parameters() []Parameter {
	list := make([]Parameter, 0, len(parameters()))
	for _, p := range parameters() {
		list = append(list, p.Parameter)
	}
	return list
}

// parameters is the one table that Parse, the documentation and the search for
// the nearest name read. A switch (true, false, 1, 0) may stand without value.
func parameters() []parameter {
	return slices.Concat(geometryParameters, lookParameters, outputParameters)
}

var geometryParameters = []parameter{
	{Parameter{"sizes", "`WxH[,WxH…]`", "original size", "boxes in pixels, 16 at most; a side of 0 keeps the ratio; all sizes share one fetch and one decode"}, (*reader).sizes},
	{Parameter{"fit", "`inside` `cover` `contain` `fill` `outside`", "`inside`", "how the picture meets a full box: whole within it, filling it and cropped, whole and padded, stretched, or covering it uncropped"}, (*reader).fit},
	{Parameter{"enlarge", "switch", "`false`", "allow results larger than the source. Without it `cover` and `fill` give a smaller box of the same shape; vectors may always grow"}, (*reader).enlarge},
	{Parameter{"gravity", "`center`, a compass point such as `northeast`, `fx,fy`, `attention` or `entropy`", "`center`", "what `cover` keeps and where `contain` lays the picture; `fx,fy` is a point in shares of width and height, 0 to 1"}, (*reader).gravity},
	{Parameter{"crop", "`x,y,w,h`", "none", "area to keep, in pixels of the upright source; what reaches over its edge is left out"}, (*reader).crop},
	{Parameter{"rotate", "multiple of 90", "`0`", "degrees clockwise, after orientation; negative turns the other way"}, (*reader).rotate},
	{Parameter{"flip", "switch", "`false`", "mirror top to bottom"}, (*reader).flip},
	{Parameter{"flop", "switch", "`false`", "mirror left to right"}, (*reader).flop},
	{Parameter{"trim", "switch, or a threshold from 1 to 255", "`false`", "cut borders that differ from the corner pixel by less than the threshold; `true` is 10, while `1` is a threshold of 1"}, (*reader).trim},
	{Parameter{"linear", "switch", "`false`", "resize in linear light, which keeps fine bright detail as bright as it is; costs more, and colours go to sRGB first, with `keep=icc` too"}, (*reader).linear},
	{Parameter{"shrink", "`fine` `fast` `none`", "`fine`", "how far a JPEG or WebP is scaled down while it is decoded: to twice the result at least, to its size, or not at all; see [Resizing](#resizing)"}, (*reader).shrink},
	{Parameter{"dpr", "0.1 to 8", "`1`", "multiplies every box of `sizes`"}, (*reader).dpr},
}

var lookParameters = []parameter{
	{Parameter{"background", "`rgb` `rgba` `rrggbb` `rrggbbaa` in hex, or `transparent`", "`transparent`", "laid under transparency and the bars of `contain`, in every format; without it outputs that have no transparency get white"}, (*reader).background},
	{Parameter{"blur", "0, or 0.3 to 250", "`0`", "Gaussian blur, sigma in pixels of the result"}, (*reader).blur},
	{Parameter{"sharpen", "0, or 0.3 to 10", "`0`", "sharpening, sigma of its mask in pixels of the result"}, (*reader).sharpen},
	{Parameter{"grayscale", "switch", "`false`", "drop the colours"}, (*reader).grayscale},
	{Parameter{"watermark", "as `image_url`", "none", "picture to lay over the result"}, (*reader).watermark},
	{Parameter{"watermark_gravity", "`center` or a compass point", "`southeast`", "where it lies"}, (*reader).watermarkGravity},
	{Parameter{"watermark_opacity", "0 to 1", "`1`", "how much of it shows"}, (*reader).watermarkOpacity},
	{Parameter{"watermark_scale", "0 to 1", "`0`", "its width as a share of the result's; 0 keeps its own size, shrunk only where it would not fit"}, (*reader).watermarkScale},
	{Parameter{"watermark_x", "pixels", "`0`", "moves it from its edge towards the middle; to the right when it is centred"}, (*reader).watermarkX},
	{Parameter{"watermark_y", "pixels", "`0`", "moves it from its edge towards the middle; down when it is centred"}, (*reader).watermarkY},
}

var outputParameters = []parameter{
	{Parameter{"format", "`auto` `webp` `jpeg` `png` `avif` `gif` `jxl` `tiff`", "`auto`", "`auto` takes what the client accepts: AVIF, WebP, then PNG with transparency, else JPEG; animations WebP, else GIF. `jpg` and `tif` are understood"}, (*reader).format},
	{Parameter{"quality", "1 to 100", "JPEG 80, WebP 80, AVIF 50, JPEG XL 75", "of lossy formats"}, (*reader).quality},
	{Parameter{"max_bytes", "1 to 268435456", "none", "lowers the quality until the result is no larger; not with `lossless` or a format that has no quality"}, (*reader).maxBytes},
	{Parameter{"ssim", "0, or 0.9 to 0.999", "`0`", "finds the quality at which the decoded result is that like the finished picture ([SSIM](#quality-by-likeness)); not with `quality`, `max_bytes`, `lossless` or a format that has no quality"}, (*reader).ssim},
	{Parameter{"lossless", "switch", "`false`", "keep every pixel value (AVIF: but for a rounding by 1); not with `jpeg`, and `auto` takes PNG instead of JPEG"}, (*reader).lossless},
	{Parameter{"effort", "0 to 9", "by format", "0 is fastest, 9 makes the smallest file. AVIF and JPEG XL, whose encoders cannot be stopped, lower it for pictures so large that they would take more than 7.5 s"}, (*reader).effort},
	{Parameter{"progressive", "switch, or `jpeg`", "`jpeg` for one picture over HTTP/2, else `false`", "interlaced or progressive output, where the format has it; `jpeg`: of JPEG only, where it is [worth it](#over-http2)"}, (*reader).progressive},
	{Parameter{"page", "1 to 1000", "`1`", "page of a document, or frame of an animation to begin with"}, (*reader).page},
	{Parameter{"frames", "0 to 500", "`0`", "how many frames of an animation to keep; 0 keeps all, 1 makes a still"}, (*reader).frames},
	{Parameter{"strip", "switch", "`true`", "drop metadata, except those that `keep` names; the colour profile is applied to the pixels"}, (*reader).strip},
	{Parameter{"keep", "list of `exif` `icc` `xmp` `iptc` `copyright`", "none", "metadata to keep; with `icc` the pixels stay in the profile's colours"}, (*reader).keep},
	{Parameter{"encoder", "`stream` `json` `progress`", "`stream`", "how results travel: bytes as they are made, one JSON document, or, over HTTP/2, with what is seen first ahead ([Over HTTP/2](#over-http2))"}, (*reader).encoder},
	{Parameter{"placeholders", "list of `blurhash` `thumbhash` `lqip` `color`", "none", "what a page shows until the first picture is there, made from the same decode; only with `encoder=json`"}, (*reader).placeholders},
}

// synonyms are names that other servers use for what ours are called.
var synonyms = map[string]string{
	"w": "sizes", "h": "sizes", "width": "sizes", "height": "sizes", "size": "sizes", "s": "sizes", "resize": "sizes",
	"q": "quality", "bg": "background", "fm": "format", "output": "format", "type": "format", "f": "format",
	"orient": "rotate", "mode": "fit", "upscale": "enlarge", "withoutenlargement": "enlarge", "n": "frames",
	"autoquality": "ssim", "dssim": "ssim", "likeness": "ssim", "linear_light": "linear", "gamma": "linear",
	"metadata": "keep", "placeholder": "placeholders", "blurhash": "placeholders", "thumbhash": "placeholders", "lqip": "placeholders", "interlace": "progressive", "anchor": "gravity", "position": "gravity", "focus": "gravity",
}

// nearest is the parameter that an unknown name most likely stands for, empty
// when there is none.
func nearest(name string) string {
	name = strings.ToLower(truncate(name, 64))
	if known, ok := synonyms[name]; ok {
		return known
	}
	names := make([]string, 0, len(parameters()))
	for _, p := range parameters() {
		names = append(names, p.Name)
	}
	return Nearest(name, names)
}
