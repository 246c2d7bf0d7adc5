/* One plan from its first byte to its last, and a small picture of a source. */
#include "run.h"

static int
load_mark(Run *run, const void *overlay, size_t length)
{
	SpwJob *job = run->job;

	if (!job->has_overlay)
		return 0;
	if (spw_load(job, &job->overlay.load, overlay, length, &run->mark))
		return -1;
	/* libvips mixes the metadata of what it joins: the mark's own must go. */
	return spw_to_srgb(&run->mark) || spw_keep_metadata(&run->mark, 0) || spw_to_rgb(&run->mark) ||
			spw_with_alpha(&run->mark) || spw_to_memory(job, &run->mark) ||
			spw_turn(&run->mark, job->overlay.turns, job->overlay.mirror)
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
	stage = spw_prepare_frames(run, src, length);
	if (stage)
		return stage;
	stage = spw_fit_layouts(run, outputs, count);
	if (stage)
		return stage;
	if (spw_share(run, outputs, count))
		return SPW_PROCESS;
	for (int i = 0; i < count; i++) {
		stage = spw_make_output(run, &outputs[i], i == count - 1);
		if (stage)
			return stage;
	}
	return SPW_OK;
}

/* libvips keeps one error text for all threads: under load this may hold a
 * neighbour's words, which is why only the log ever sees it.
 */
int
spw_conclude(SpwJob *job, int stage)
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

	spw_free_frames(&run);
	VIPS_UNREF(run.mark);
	return spw_conclude(job, stage);
}

/* To RGBA of at most side pixels each way. */
static int
shrink(SpwJob *job, VipsImage **image, int side)
{
	double factor = VIPS_MIN(1, (double) side / VIPS_MAX((*image)->Xsize, (*image)->Ysize));
	int width = VIPS_MAX(1, (int) ((*image)->Xsize * factor + 0.5));
	int height = VIPS_MAX(1, (int) ((*image)->Ysize * factor + 0.5));

	return spw_premultiply(image) || spw_resize(image, width, height) || spw_unpremultiply(image) ||
			spw_to_memory(job, image) || spw_turn(image, job->turns, job->mirror) || spw_to_srgb(image) ||
			spw_to_rgb(image) || spw_with_alpha(image)
		? -1
		: 0;
}

int
spw_describe(SpwJob *job, const void *src, size_t length, int side, void **pixels, int *width, int *height)
{
	Run run = { .job = job };
	VipsImage *image = NULL;
	int stage = spw_prepare_frames(&run, src, length);

	if (!stage) {
		image = run.frame;
		g_object_ref(image);
		stage = shrink(job, &image, side) ? SPW_PROCESS : SPW_OK;
	}
	if (!stage) {
		*width = image->Xsize;
		*height = image->Ysize;
		*pixels = vips_image_write_to_memory(image, NULL);
		stage = *pixels ? SPW_OK : SPW_PROCESS;
	}
	VIPS_UNREF(image);
	spw_free_frames(&run);
	return spw_conclude(job, stage);
}
