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

	return job->turns || output->layout.smart != SPW_PLACED || run->count > 1;
}

static int
find_smart(VipsImage *image, int premultiplied, SpwLayout *layout)
{
	VipsImage *work = image;
	int result;

	if (layout->smart == SPW_PLACED || !layout->crop.width)
		return 0;
	g_object_ref(work);
	result = (premultiplied && spw_unpremultiply(&work)) ||
		spw_smart_place(work, layout->smart, layout->crop.width, layout->crop.height, &layout->crop.x,
			&layout->crop.y);
	g_object_unref(work);
	layout->smart = SPW_PLACED;
	return result ? -1 : 0;
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

/* Resizing and blurring mix neighbours, which is right on premultiplied colour
 * alone. Nothing else is worth its loss: a faint pixel has few values left.
 * A resize in linear light sees to that itself.
 */
static int
resize(const Run *run, const SpwLayout *layout, VipsImage **image, int *premultiplied)
{
	int blurs = run->job->blur > 0, linear = run->job->linear;
	int mixes = blurs || (!linear && !spw_has_size(run, *image, layout->width, layout->height));

	*premultiplied = run->premultiplied || mixes;
	if (linear && spw_scale(run, image, layout->width, layout->height))
		return -1;
	if (mixes && !run->premultiplied && spw_premultiply(image))
		return -1;
	return linear ? 0 : spw_scale(run, image, layout->width, layout->height);
}

/* Everything between the shared picture and the encoder, for one frame. */
static int
finish(Run *run, SpwOutput *output, VipsImage **image)
{
	SpwJob *job = run->job;
	SpwLayout *layout = &output->layout;
	int premultiplied;

	if (resize(run, layout, image, &premultiplied))
		return -1;
	if (needs_memory(run, output) && spw_to_memory(job, image))
		return -1;
	if (!run->upright && spw_turn(image, job->turns, job->mirror))
		return -1;
	if (find_smart(*image, premultiplied, layout))
		return -1;
	if (layout->crop.width &&
		spw_crop(image, layout->crop.x, layout->crop.y, layout->crop.width, layout->crop.height))
		return -1;
	if (job->blur > 0 && spw_blur(job, image, job->blur))
		return -1;
	if (premultiplied ? spw_unpremultiply(image) : spw_clear(image))
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

/* Stack finished frames into the strip that animated savers read. */
static int
stack(VipsImage **frames, int count, VipsImage **out)
{
	if (count > 1)
		return vips_arrayjoin(frames, out, count, "across", 1, NULL);
	g_object_ref(frames[0]);
	*out = frames[0];
	return 0;
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

static int
finish_frames(Run *run, SpwOutput *output, VipsImage **out)
{
	int count = frames_of(run, output);
	VipsImage **frames = g_new0(VipsImage *, count);
	int result = 0;

	for (int i = 0; i < count && !result; i++) {
		frames[i] = run->frames[i];
		g_object_ref(frames[i]);
		result = finish(run, output, &frames[i]);
	}
	if (!result)
		result = stack(frames, count, out) || label(run, out, count, frames[0]->Ysize, output->keep);
	spw_free_frames(frames, count);
	return result ? -1 : 0;
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
	if (last) {
		spw_free_frames(run->frames, run->count);
		run->frames = NULL;
		run->count = 0;
	}
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
