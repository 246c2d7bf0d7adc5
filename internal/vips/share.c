/* What all outputs have in common: one decode, scaled at most once. */
#include "run.h"

static int
premultiply(Run *run, VipsImage **image, const void *argument)
{
	return run->job->linear ? 0 : spw_premultiply(image);
}

/* In all of these, width and height are of the upright picture. */
int
spw_has_size(const Run *run, VipsImage *image, int width, int height)
{
	return spw_lies(run) ? image->Xsize == height && image->Ysize == width
			     : image->Xsize == width && image->Ysize == height;
}

/* Of premultiplied frames, but in linear light of straight ones. */
int
spw_scale(const Run *run, VipsImage **image, int width, int height)
{
	int lying = spw_lies(run), w = lying ? height : width, h = lying ? width : height;

	return run->job->linear ? spw_resize_linear(image, w, h) : spw_resize(image, w, h);
}

static int
scale_to(Run *run, VipsImage **image, const void *argument)
{
	const SpwLayout *layout = argument;

	return spw_scale(run, image, layout->width, layout->height);
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
	int lying = spw_lies(run);
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
int
spw_share(Run *run, const SpwOutput *outputs, int count)
{
	SpwLayout all = shared_size(run, outputs, count);

	if (count == 1)
		return 0;
	if (!spw_has_size(run, run->frames[0], all.width, all.height)) {
		if (spw_each_frame(run, premultiply, NULL) || spw_each_frame(run, scale_to, &all))
			return -1;
		run->premultiplied = !run->job->linear;
	}
	return spw_hold_frames(run) || spw_stand_up(run) ? -1 : 0;
}
