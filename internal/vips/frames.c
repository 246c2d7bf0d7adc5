/* The frames of a source: loaded, cut, upright, and of a known size. */
#include <math.h>

#include "run.h"

int
spw_each_frame(Run *run, Step step, const void *argument)
{
	for (int i = 0; i < run->count; i++)
		if (step(run, &run->frames[i], argument))
			return -1;
	return 0;
}

void
spw_free_frames(VipsImage **frames, int count)
{
	for (int i = 0; frames && i < count; i++)
		VIPS_UNREF(frames[i]);
	g_free(frames);
}

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
	/* A profile has to be gone before light is computed from its levels. */
	return run->job->linear ? spw_to_srgb(image) : spw_to_8bit(image);
}

static int
to_memory(Run *run, VipsImage **image, const void *argument)
{
	return spw_to_memory(run->job, image);
}

int
spw_hold_frames(Run *run)
{
	return spw_each_frame(run, to_memory, NULL);
}

static int
turn(Run *run, VipsImage **image, const void *argument)
{
	return spw_turn(image, run->job->turns, run->job->mirror);
}

int
spw_lies(const Run *run)
{
	return !run->upright && run->job->turns % 2;
}

int
spw_stand_up(Run *run)
{
	if (run->upright)
		return 0;
	run->upright = 1;
	return spw_each_frame(run, turn, NULL);
}

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
	int lying = spw_lies(run);
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

	if (spw_hold_frames(run) || spw_stand_up(run))
		return SPW_DECODE;
	if (spw_trim_box(run->frames[0], run->job->trim, &box) || spw_each_frame(run, crop_to, &box))
		return SPW_PROCESS;
	return lay_out_again(run, outputs, count);
}

int
spw_fit_layouts(Run *run, SpwOutput *outputs, int count)
{
	if (run->job->trim > 0)
		return trim(run, outputs, count);
	return run->job->later_page ? lay_out_again(run, outputs, count) : SPW_OK;
}

/* The source as 8-bit frames, cropped as asked. */
int
spw_prepare_frames(Run *run, const void *src, size_t length)
{
	if (load_frames(run, src, length))
		return SPW_DECODE;
	if (check_page(run))
		return SPW_PIXELS;
	if (spw_each_frame(run, crop_source, NULL) || spw_each_frame(run, to_8bit, NULL))
		return SPW_DECODE;
	return SPW_OK;
}
