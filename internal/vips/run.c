/* One plan from its first byte to its last. A Picture is one frame on its way
 * through the steps; a still has one, an animation as many as it keeps.
 */
#include <math.h>
#include <string.h>

#include "stages.h"

typedef struct {
	SpwJob *job;
	const int *delays;
	VipsImage **frames;
	int count;
	VipsImage *mark;
	int upright; /* the frames are already turned */
	int premultiplied;
	int in_memory;
} Run;

typedef int (*Step)(Run *run, VipsImage **image, const void *argument);

static int
each_frame(Run *run, Step step, const void *argument)
{
	for (int i = 0; i < run->count; i++)
		if (step(run, &run->frames[i], argument))
			return -1;
	return 0;
}

static void
free_frames(VipsImage **frames, int count)
{
	for (int i = 0; frames && i < count; i++)
		VIPS_UNREF(frames[i]);
	g_free(frames);
}

/* Loading */

/* Cut the tall strip that an animation loads as into its frames. They are
 * read one after the other, so the strip itself is never held.
 */
static int
cut_frames(Run *run, VipsImage *strip)
{
	int height = vips_image_get_page_height(strip);
	int count = strip->Ysize / height;

	if (!run->job->animated)
		count = 1;
	run->frames = g_new0(VipsImage *, count);
	run->count = count;
	for (int i = 0; i < count; i++) {
		if (vips_extract_area(strip, &run->frames[i], 0, i * height, strip->Xsize, height, NULL))
			return -1;
	}
	return 0;
}

/* The header that was probed is of the first page. */
static int
check_page(const Run *run)
{
	const SpwJob *job = run->job;

	return job->later_page &&
		(int64_t) run->frames[0]->Xsize * run->frames[0]->Ysize > job->max_pixels;
}

static int
load_frames(Run *run, const void *src, size_t length)
{
	VipsImage *strip = NULL;
	int result;

	if (spw_load(run->job, &run->job->load, src, length, &strip))
		return -1;
	result = cut_frames(run, strip);
	g_object_unref(strip);
	return result;
}

/* A start and a length in shares of size, as whole pixels: never empty, never
 * over the edge. media.Area.In does the same.
 */
static void
span(double start, double length, int size, int *from, int *count)
{
	int to = (int) floor((start + length) * size + 0.5);

	*from = VIPS_CLIP(0, (int) floor(start * size + 0.5), size - 1);
	*count = VIPS_MAX(1, VIPS_MIN(to, size) - *from);
}

static int
crop_source(Run *run, VipsImage **image, const void *argument)
{
	const SpwArea *crop = &run->job->crop;
	SpwRect box;

	if (crop->width <= 0)
		return 0;
	span(crop->x, crop->width, (*image)->Xsize, &box.x, &box.width);
	span(crop->y, crop->height, (*image)->Ysize, &box.y, &box.height);
	return spw_crop(image, box.x, box.y, box.width, box.height);
}

static int
to_8bit(Run *run, VipsImage **image, const void *argument)
{
	return spw_to_8bit(image);
}

static int
to_memory(Run *run, VipsImage **image, const void *argument)
{
	return spw_to_memory(run->job, image);
}

static int
hold(Run *run)
{
	run->in_memory = 1;
	return each_frame(run, to_memory, NULL);
}

static int
turn(Run *run, VipsImage **image, const void *argument)
{
	return spw_turn(image, run->job->turns, run->job->mirror);
}

static int
stand_up(Run *run)
{
	if (run->upright)
		return 0;
	run->upright = 1;
	return each_frame(run, turn, NULL);
}

/* Trim */

static int
crop_to(Run *run, VipsImage **image, const void *argument)
{
	const SpwRect *box = argument;

	return spw_crop(image, box->x, box->y, box->width, box->height);
}

/* Lay every output out anew: the picture has another size than was planned. */
static int
lay_out_again(Run *run, SpwOutput *outputs, int count)
{
	int lying = !run->upright && run->job->turns % 2;
	int width = lying ? run->frames[0]->Ysize : run->frames[0]->Xsize;
	int height = lying ? run->frames[0]->Xsize : run->frames[0]->Ysize;

	for (int i = 0; i < count; i++)
		if (spillwayLayOut(run->job->handle, outputs[i].index, width, height, &outputs[i].layout))
			return SPW_LAYOUT;
	return SPW_OK;
}

/* Cut the border of the first frame from all, and lay the outputs out anew. */
static int
trim(Run *run, SpwOutput *outputs, int count)
{
	SpwRect box;

	if (hold(run) || stand_up(run))
		return SPW_DECODE;
	if (spw_trim_box(run->frames[0], run->job->trim, &box) || each_frame(run, crop_to, &box))
		return SPW_PROCESS;
	return lay_out_again(run, outputs, count);
}

static int
fit_layouts(Run *run, SpwOutput *outputs, int count)
{
	if (run->job->trim > 0)
		return trim(run, outputs, count);
	return run->job->later_page ? lay_out_again(run, outputs, count) : SPW_OK;
}

/* Scaling */

static int
premultiply(Run *run, VipsImage **image, const void *argument)
{
	return spw_premultiply(image);
}

/* width and height are of the upright picture. */
static int
scale(const Run *run, VipsImage **image, int width, int height)
{
	int lying = !run->upright && run->job->turns % 2;

	return lying ? spw_resize(image, height, width) : spw_resize(image, width, height);
}

static int
scale_to(Run *run, VipsImage **image, const void *argument)
{
	const SpwLayout *layout = argument;

	return scale(run, image, layout->width, layout->height);
}

static SpwLayout
largest(const SpwOutput *outputs, int count)
{
	SpwLayout all = { 0 };

	for (int i = 0; i < count; i++) {
		all.width = VIPS_MAX(all.width, outputs[i].layout.width);
		all.height = VIPS_MAX(all.height, outputs[i].layout.height);
	}
	return all;
}

/* Scaling twice by less than a half each time is seen: SSIM falls below what
 * one decode for each output gives.
 */
static int
too_near(const SpwLayout *layout, const SpwLayout *all)
{
	int same = layout->width == all->width && layout->height == all->height;

	return !same && (layout->width > 0.55 * all->width || layout->height > 0.55 * all->height);
}

/* The size of the picture that all outputs are made from: the largest of them,
 * or twice that where another is nearly as large; never more than was loaded.
 */
static SpwLayout
shared_size(const Run *run, const SpwOutput *outputs, int count)
{
	int lying = !run->upright && run->job->turns % 2;
	VipsImage *frame = run->frames[0];
	SpwLayout all = largest(outputs, count);
	int factor = 1;

	for (int i = 0; i < count; i++)
		if (too_near(&outputs[i].layout, &all))
			factor = 2;
	all.width = VIPS_MIN(all.width * factor, lying ? frame->Ysize : frame->Xsize);
	all.height = VIPS_MIN(all.height * factor, lying ? frame->Xsize : frame->Ysize);
	return all;
}

/* Several outputs share one decode: it is scaled once to what they need and
 * held; each is scaled down from there.
 */
static int
share(Run *run, const SpwOutput *outputs, int count)
{
	SpwLayout all = shared_size(run, outputs, count);

	if (each_frame(run, premultiply, NULL))
		return -1;
	run->premultiplied = 1;
	if (count == 1)
		return 0;
	return each_frame(run, scale_to, &all) || hold(run) || stand_up(run) ? -1 : 0;
}

/* One output */

/* Steps that look at neighbours or turn the picture read it in any order. */
static int
needs_memory(const Run *run, const SpwOutput *output)
{
	const SpwJob *job = run->job;

	return job->turns || job->blur > 0 || job->sharpen > 0 || output->layout.smart != SPW_PLACED ||
		output->max_bytes > 0 || run->count > 1;
}

static int
find_smart(VipsImage *image, SpwLayout *layout)
{
	VipsImage *work = image;
	int result;

	if (layout->smart == SPW_PLACED || !layout->crop.width)
		return 0;
	g_object_ref(work);
	result = spw_unpremultiply(&work) ||
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

static int
keeps_space(const SpwJob *job, const SpwOutput *output)
{
	return (output->keep & SPW_KEEP_ICC) && !job->grayscale && output->format != SPW_GIF;
}

/* Everything between the shared picture and the encoder, for one frame. */
static int
finish(Run *run, SpwOutput *output, VipsImage **image)
{
	SpwJob *job = run->job;
	SpwLayout *layout = &output->layout;

	if (scale(run, image, layout->width, layout->height))
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
	/* Blur mixes neighbours, so it too works on premultiplied colour. */
	if (job->blur > 0 && spw_blur(job, image, job->blur))
		return -1;
	if (spw_unpremultiply(image))
		return -1;
	if (!keeps_space(job, output) && spw_to_srgb(image))
		return -1;
	if (job->grayscale && spw_grayscale(image))
		return -1;
	if (job->sharpen > 0 && spw_sharpen(image, job->sharpen))
		return -1;
	if (pad(job, output, image) || (run->mark && spw_watermark(job, image, run->mark)))
		return -1;
	return lay_on_ground(job, output, image);
}

/* Stack finished frames into the strip that animated savers read. */
static int
stack(Run *run, VipsImage **frames, VipsImage **out)
{
	if (run->count > 1)
		return vips_arrayjoin(frames, out, run->count, "across", 1, NULL);
	g_object_ref(frames[0]);
	*out = frames[0];
	return 0;
}

/* Only what is kept, then what makes a strip an animation. */
static int
label(Run *run, VipsImage **image, int height, int keep)
{
	if (spw_keep_metadata(image, keep))
		return -1;
	if (run->count == 1)
		return 0;
	return spw_stamp_frames(image, height, run->delays, run->count, run->job->plays);
}

static int
finish_frames(Run *run, SpwOutput *output, VipsImage **out)
{
	VipsImage **frames = g_new0(VipsImage *, run->count);
	int result = 0;

	for (int i = 0; i < run->count && !result; i++) {
		frames[i] = run->frames[i];
		g_object_ref(frames[i]);
		result = finish(run, output, &frames[i]);
	}
	if (!result)
		result = stack(run, frames, out) || label(run, out, frames[0]->Ysize, output->keep);
	free_frames(frames, run->count);
	return result ? -1 : 0;
}

/* The pixels are in memory before a search, so that each encode costs only
 * itself.
 */
static int
make_output(Run *run, SpwOutput *output)
{
	VipsImage *image = NULL;
	int result;

	if (finish_frames(run, output, &image)) {
		VIPS_UNREF(image);
		return SPW_PROCESS;
	}
	if (output->max_bytes > 0 && spw_to_memory(run->job, &image)) {
		g_object_unref(image);
		return SPW_PROCESS;
	}
	result = spw_save(run->job, output, image, run->count);
	g_object_unref(image);
	return result;
}

/* The whole run */

static int
load_mark(Run *run, const void *overlay, size_t length)
{
	SpwJob *job = run->job;

	if (!job->has_overlay)
		return 0;
	if (spw_load(job, &job->overlay.load, overlay, length, &run->mark))
		return -1;
	/* libvips mixes the metadata of what it joins: the mark's own must go. */
	return spw_to_srgb(&run->mark) || spw_keep_metadata(&run->mark, 0) || spw_to_rgb(&run->mark) || spw_with_alpha(&run->mark) ||
			spw_to_memory(job, &run->mark) || spw_turn(&run->mark, job->overlay.turns, job->overlay.mirror)
		? -1
		: 0;
}

static int
run_plan(Run *run, const void *src, size_t length, const void *overlay, size_t overlay_length, SpwOutput *outputs,
	int count)
{
	int stage;

	if (load_mark(run, overlay, overlay_length))
		return SPW_MARK;
	if (load_frames(run, src, length))
		return SPW_DECODE;
	if (check_page(run))
		return SPW_PIXELS;
	if (each_frame(run, crop_source, NULL) || each_frame(run, to_8bit, NULL))
		return SPW_DECODE;
	stage = fit_layouts(run, outputs, count);
	if (stage)
		return stage;
	if (share(run, outputs, count))
		return SPW_PROCESS;
	for (int i = 0; i < count; i++) {
		stage = make_output(run, &outputs[i]);
		if (stage)
			return stage;
	}
	return SPW_OK;
}

/* libvips keeps one error text for all threads: under load this may hold a
 * neighbour's words, which is why only the log ever sees it.
 */
static int
conclude(SpwJob *job, int stage)
{
	char *text;

	if (stage == SPW_OK)
		return stage;
	text = vips_error_buffer_copy();
	g_strlcpy(job->message, text, sizeof(job->message));
	g_free(text);
	if (spw_cancelled(job))
		return SPW_CANCELLED;
	if (stage == SPW_MARK)
		return stage;
	if (__atomic_load_n(&job->decode_failed, __ATOMIC_RELAXED))
		return SPW_DECODE;
	return stage;
}

int
spw_run(SpwJob *job, const void *src, size_t length, const void *overlay, size_t overlay_length, const int *delays,
	SpwOutput *outputs, int count)
{
	Run run = { .job = job, .delays = delays };
	int stage = run_plan(&run, src, length, overlay, overlay_length, outputs, count);

	free_frames(run.frames, run.count);
	VIPS_UNREF(run.mark);
	return conclude(job, stage);
}

/* Describe */

int
spw_describe(SpwJob *job, const void *src, size_t length, int side, void **pixels, int *width, int *height)
{
	Run run = { .job = job };
	VipsImage *image = NULL;
	double factor;
	size_t size;
	int stage = SPW_DECODE;

	if (load_frames(&run, src, length) || each_frame(&run, to_8bit, NULL))
		goto done;
	stage = SPW_PROCESS;
	image = run.frames[0];
	g_object_ref(image);
	factor = VIPS_MIN(1, (double) side / VIPS_MAX(image->Xsize, image->Ysize));
	if (spw_premultiply(&image) ||
		spw_resize(&image, VIPS_MAX(1, (int) (image->Xsize * factor + 0.5)),
			VIPS_MAX(1, (int) (image->Ysize * factor + 0.5))) ||
		spw_to_memory(job, &image) || spw_turn(&image, job->turns, job->mirror) || spw_unpremultiply(&image) ||
		spw_to_srgb(&image) || spw_to_rgb(&image) || spw_with_alpha(&image))
		goto done;
	*pixels = vips_image_write_to_memory(image, &size);
	if (*pixels) {
		*width = image->Xsize;
		*height = image->Ysize;
		stage = SPW_OK;
	}
done:
	VIPS_UNREF(image);
	free_frames(run.frames, run.count);
	return conclude(job, stage);
}
