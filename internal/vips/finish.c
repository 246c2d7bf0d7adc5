/* One output, from the shared picture to its last byte. */
#include <string.h>

#include "run.h"

/* Steps that turn the picture or look for something in it read it in any
 * order.
 */
static int
needs_memory(const Run *run, const SpwOutput *output)
{
	const SpwJob *job = run->job;

	return job->turns || output->layout.smart != SPW_PLACED;
}

static int
find_smart(VipsImage *image, SpwLayout *layout)
{
	int result;

	if (layout->smart == SPW_PLACED || !layout->crop.width)
		return 0;
	result = spw_smart_place(image, layout->smart, layout->crop.width, layout->crop.height, &layout->crop.x,
		&layout->crop.y);
	layout->smart = SPW_PLACED;
	return result;
}

static void
bars(const SpwJob *job, const SpwOutput *output, double ink[4])
{
	static const double clear[4] = { 0, 0, 0, 0 }, white[4] = { 255, 255, 255, 255 };

	if (job->has_background)
		memcpy(ink, job->background, 4 * sizeof(double));
	else
		memcpy(ink, spw_format_alpha(output->format) ? clear : white, 4 * sizeof(double));
}

static int
pad(const SpwJob *job, const SpwOutput *output, VipsImage **image)
{
	double ink[4];

	if (!output->layout.canvas.width)
		return 0;
	bars(job, output, ink);
	/* A half clear ground is laid once, below everything, at the end. */
	if (job->has_background && ink[3] < 255)
		ink[3] = 0;
	if (ink[0] != ink[1] || ink[1] != ink[2])
		if (spw_to_rgb(image))
			return -1;
	if (ink[3] < 255 && spw_with_alpha(image))
		return -1;
	return spw_canvas(image, &output->layout.canvas, ink);
}

/* Fill what is transparent: with the background that was given, and with
 * white where the format cannot show through.
 */
static int
lay_on_ground(const SpwJob *job, const SpwOutput *output, VipsImage **image)
{
	static const double white[4] = { 255, 255, 255, 255 };
	const double *ink = job->background;

	if (job->has_background && ink[3] > 0 && vips_image_hasalpha(*image)) {
		if ((ink[0] != ink[1] || ink[1] != ink[2]) && spw_to_rgb(image))
			return -1;
		if (ink[3] < 255 ? spw_underlay(image, ink) : spw_flatten(image, ink))
			return -1;
	}
	return spw_format_alpha(output->format) ? 0 : spw_flatten(image, white);
}

/* Whether a colour is laid on the picture. White and black are the same in all
 * profiles; any other is sRGB, and so is a watermark.
 */
static int
brings_colour(const Run *run, const SpwOutput *output, VipsImage *image)
{
	const SpwJob *job = run->job;
	const double *ink = job->background;
	int neutral = ink[0] == ink[1] && ink[1] == ink[2] && (ink[0] == 0 || ink[0] == 255);
	int ground = job->has_background && ink[3] > 0 && !neutral;

	return run->mark != NULL || (ground && (output->layout.canvas.width || vips_image_hasalpha(image)));
}

/* Whether the pixels stay in the space of their profile. */
static int
keeps_space(const Run *run, const SpwOutput *output, VipsImage *image)
{
	return (output->keep & SPW_KEEP_ICC) && !run->job->grayscale && !brings_colour(run, output, image) &&
		spw_profile_is_kept(image, output->format);
}

/* A picture that keeps its size is not premultiplied and back: a faint pixel
 * would lose some of its colour.
 */
static int
resize(const Run *run, const SpwLayout *layout, VipsImage **image)
{
	if (spw_has_size(run, *image, layout->width, layout->height))
		return spw_clear(image);
	return spw_scale(run, image, layout->width, layout->height);
}

static int
blur(SpwJob *job, VipsImage **image)
{
	if (job->blur <= 0)
		return 0;
	return spw_premultiply(image) || spw_blur(job, image, job->blur) || spw_unpremultiply(image) ? -1 : 0;
}

/* Everything between the shared picture and the encoder, for one frame. */
static int
finish(Run *run, SpwOutput *output, VipsImage **image)
{
	SpwJob *job = run->job;
	SpwLayout *layout = &output->layout;

	if (resize(run, layout, image))
		return -1;
	if (needs_memory(run, output) && spw_to_memory(job, image))
		return -1;
	if (!run->upright && spw_turn(image, job->turns, job->mirror))
		return -1;
	if (find_smart(*image, layout))
		return -1;
	if (layout->crop.width &&
		spw_crop(image, layout->crop.x, layout->crop.y, layout->crop.width, layout->crop.height))
		return -1;
	if (blur(job, image))
		return -1;
	if (!keeps_space(run, output, *image) && spw_to_srgb(image))
		return -1;
	if (job->grayscale && spw_grayscale(image))
		return -1;
	if (job->sharpen > 0 && (spw_window(image) || spw_sharpen(image, job->sharpen)))
		return -1;
	if (pad(job, output, image) || (run->mark && spw_watermark(job, image, run->mark)))
		return -1;
	if (lay_on_ground(job, output, image))
		return -1;
	return output->format == SPW_RAW && (spw_to_rgb(image) || spw_with_alpha(image)) ? -1 : 0;
}

/* Rows of pixels are a still, whatever the others are. */
static int
frames_of(const Run *run, const SpwOutput *output)
{
	return output->format == SPW_RAW ? 1 : run->count;
}

/* Only what is kept, then what makes a strip an animation. */
static int
label(Run *run, VipsImage **image, int count, int height, int keep)
{
	if (spw_keep_metadata(image, keep))
		return -1;
	if (count == 1)
		return 0;
	return spw_stamp_frames(image, height, run->delays, count, run->job->plays);
}

/* Whether a step between the frame and its end needs the pixels of one frame. */
static int
is_bound(const Run *run, const SpwOutput *output)
{
	return needs_memory(run, output) || run->job->blur > 0;
}

static int
one_frame(Run *run, SpwOutput *output, int bound, VipsImage **out)
{
	*out = run->frame;
	g_object_ref(*out);
	return (bound && spw_to_memory(run->job, out)) || finish(run, output, out) ? -1 : 0;
}

/* The strip of finished frames, in memory. */
static int
finish_strip(Run *run, SpwOutput *output, VipsImage **strip)
{
	int bound = is_bound(run, output), result = 0;
	VipsImage *frame = NULL;

	for (int i = 0; i < run->count && !result; i++) {
		spw_show(run, i);
		if (bound)
			VIPS_UNREF(frame);
		result = (!frame && one_frame(run, output, bound, &frame)) ||
			spw_stack(run->job, frame, i, run->count, strip);
	}
	VIPS_UNREF(frame);
	return result || spw_guard(run->job, strip, 0) ? -1 : 0;
}

static int
finish_frames(Run *run, SpwOutput *output, VipsImage **out)
{
	int count = frames_of(run, output);

	spw_show(run, 0);
	if (count > 1 ? finish_strip(run, output, out) : one_frame(run, output, 0, out))
		return -1;
	return label(run, out, count, (*out)->Ysize / count, output->keep);
}

/* Whether the encoder works through so many pixels of a frame in one step that
 * a run which ends meanwhile has to end a process.
 */
static int
runs_apart(const SpwOutput *output, VipsImage *image, int frames)
{
	int64_t from = vips_image_hasalpha(image) ? output->apart_clear : output->apart;

	return from > 0 && (int64_t) image->Xsize * (image->Ysize / frames) >= from;
}

/* Consumes image. Nothing of the pixels is left in this process while the
 * helper works, but for what other outputs are still made of.
 */
static int
save_apart(Run *run, SpwOutput *output, VipsImage *image, int last)
{
	SpwJob *job = run->job;
	int frames = frames_of(run, output);
	int width = image->Xsize, height = image->Ysize / frames, stage;
	int file = spw_pack(job, output, image, frames);
	char message[256] = "";

	g_object_unref(image);
	if (last)
		spw_free_frames(run);
	if (file < 0)
		return SPW_ENCODE;
	stage = spillwayEncode(job->handle, output->index, width, height, frames, file, message, sizeof(message));
	if (stage != SPW_OK)
		vips_error("helper", "%s", message);
	return stage;
}

/* The finished pixels, in memory, and the small picture that is made of them. */
static int
make_thumb(Run *run, SpwOutput *output, VipsImage **image)
{
	VipsImage *held = vips_image_copy_memory(*image);
	int stage;

	if (!held)
		return SPW_PROCESS;
	spw_replace(image, held);
	stage = spw_save_thumb(run->job, output, held, frames_of(run, output));
	return stage == SPW_OK && spw_guard(run->job, image, 0) ? SPW_PROCESS : stage;
}

/* The pixels are in memory before a search, so that each encode costs only
 * itself.
 */
int
spw_make_output(Run *run, SpwOutput *output, int last)
{
	VipsImage *image = NULL;
	int result = SPW_OK;

	if (finish_frames(run, output, &image)) {
		VIPS_UNREF(image);
		return SPW_PROCESS;
	}
	if (output->thumb_side > 0)
		result = make_thumb(run, output, &image);
	if (result) {
		g_object_unref(image);
		return result;
	}
	if (runs_apart(output, image, frames_of(run, output)))
		return save_apart(run, output, image, last);
	if ((output->max_bytes > 0 || output->ssim > 0) && spw_to_memory(run->job, &image)) {
		g_object_unref(image);
		return SPW_PROCESS;
	}
	result = spw_save(run->job, output, image, frames_of(run, output));
	g_object_unref(image);
	return result;
}
