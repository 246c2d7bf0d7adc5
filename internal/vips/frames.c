/* The frames of a source: loaded, cut, upright, and of a known size. */
#include <math.h>

#include "run.h"

void
spw_free_frames(Run *run)
{
	VIPS_UNREF(run->frame);
	VIPS_UNREF(run->cut);
	run->count = 0;
}

static int
cut_generate(VipsRegion *out, void *sequence, void *a, void *b, gboolean *stop)
{
	VipsRegion *in = (VipsRegion *) sequence;
	const Run *run = *(Run **) b;
	VipsRect area = out->valid;

	area.top += run->shown * out->im->Ysize;
	return vips_region_prepare(in, &area) || vips_region_region(out, in, &out->valid, area.left, area.top) ? -1 : 0;
}

/* The frame that is shown, out of the tall strip that an animation loads as.
 * Steps are laid on it once, however many frames there are: to build a pipeline
 * takes as long as to scale a small frame. A strip that is being decoded is read
 * one frame after the other, and never held.
 */
static int
cut_strip(Run *run, VipsImage *strip, int height)
{
	VipsImage *out = vips_image_new();
	Run **keep = VIPS_NEW(out, Run *);

	*keep = run;
	if (vips_image_pipelinev(out, VIPS_DEMAND_STYLE_THINSTRIP, strip, NULL)) {
		g_object_unref(out);
		return -1;
	}
	out->Ysize = height;
	if (vips_image_generate(out, vips_start_one, cut_generate, vips_stop_one, strip, keep)) {
		g_object_unref(out);
		return -1;
	}
	g_object_ref(strip);
	vips_object_local(out, strip);
	VIPS_UNREF(run->frame);
	VIPS_UNREF(run->cut);
	run->frame = run->cut = out;
	g_object_ref(out);
	return 0;
}

static int
cut_frames(Run *run, VipsImage *strip)
{
	int height = vips_image_get_page_height(strip);

	run->count = run->job->animated ? strip->Ysize / height : 1;
	if (run->count > 1)
		return cut_strip(run, strip, height);
	return vips_extract_area(strip, &run->frame, 0, 0, strip->Xsize, height, NULL);
}

/* Nothing that was computed of another frame counts any more. */
void
spw_show(Run *run, int index)
{
	if (run->shown == index)
		return;
	run->shown = index;
	vips_image_invalidate_all(run->cut);
}

typedef struct {
	VipsImage *strip;
	int top;
} Place;

static int
write_lines(VipsRegion *region, VipsRect *area, void *a)
{
	const Place *place = (const Place *) a;

	for (int y = area->top; y < area->top + area->height; y++)
		if (vips_image_write_line(place->strip, place->top + y, VIPS_REGION_ADDR(region, 0, y)))
			return -1;
	return 0;
}

/* Evaluate a frame into its place in a strip in memory, which the first makes. */
int
spw_stack(SpwJob *job, VipsImage *frame, int index, int count, VipsImage **strip)
{
	Place place;

	if (!*strip) {
		*strip = vips_image_new_memory();
		if (vips_image_pipelinev(*strip, VIPS_DEMAND_STYLE_ANY, frame, NULL))
			return -1;
		(*strip)->Ysize = frame->Ysize * count;
	}
	place = (Place){ *strip, index * frame->Ysize };
	return spw_cancelled(job) || vips_sink_disc(frame, write_lines, &place) ? -1 : 0;
}

/* The header that was probed is of the first page. */
static int
check_page(const Run *run)
{
	const SpwJob *job = run->job;

	return job->later_page &&
		(int64_t) run->frame->Xsize * run->frame->Ysize > job->max_pixels;
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
crop_source(Run *run)
{
	const SpwArea *crop = &run->job->crop;
	SpwRect box;

	if (crop->width <= 0)
		return 0;
	span(crop->x, crop->width, run->frame->Xsize, &box.x, &box.width);
	span(crop->y, crop->height, run->frame->Ysize, &box.y, &box.height);
	return spw_crop(&run->frame, box.x, box.y, box.width, box.height);
}

/* A profile has to be gone before light is computed from its levels. */
static int
to_8bit(Run *run)
{
	return run->job->linear ? spw_to_srgb(&run->frame) : spw_to_8bit(&run->frame);
}

static int
hold_strip(Run *run)
{
	VipsImage *strip = NULL;
	int height = run->frame->Ysize, result = 0;

	for (int i = 0; i < run->count && !result; i++) {
		spw_show(run, i);
		result = spw_stack(run->job, run->frame, i, run->count, &strip);
	}
	spw_show(run, 0);
	result = result || cut_strip(run, strip, height) || spw_guard(run->job, &run->frame, 0);
	VIPS_UNREF(strip);
	return result ? -1 : 0;
}

/* Evaluate all that was laid on the frames. */
int
spw_hold_frames(Run *run)
{
	return run->count > 1 ? hold_strip(run) : spw_to_memory(run->job, &run->frame);
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
	return spw_turn(&run->frame, run->job->turns, run->job->mirror);
}

/* Lay every output out anew: the picture has another size than was planned. */
static int
lay_out_again(Run *run, SpwOutput *outputs, int count)
{
	int lying = spw_lies(run);
	int width = lying ? run->frame->Ysize : run->frame->Xsize;
	int height = lying ? run->frame->Xsize : run->frame->Ysize;

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
	if (spw_trim_box(run->frame, run->job->trim, &box) ||
		spw_crop(&run->frame, box.x, box.y, box.width, box.height))
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
	if (crop_source(run) || to_8bit(run))
		return SPW_DECODE;
	return SPW_OK;
}
