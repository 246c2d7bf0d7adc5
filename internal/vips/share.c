/* What all outputs have in common: one decode, scaled at most once. */
#include "run.h"

/* In all of these, width and height are of the upright picture. */
int
spw_has_size(const Run *run, VipsImage *image, int width, int height)
{
	return spw_lies(run) ? image->Xsize == height && image->Ysize == width
			     : image->Xsize == width && image->Ysize == height;
}

/* Resizing mixes neighbours, which is right on premultiplied colour alone; in
 * linear light it sees to that itself.
 */
int
spw_scale(const Run *run, VipsImage **image, int width, int height)
{
	int lying = spw_lies(run), w = lying ? height : width, h = lying ? width : height;

	if (run->job->linear)
		return spw_resize_linear(image, w, h);
	return spw_premultiply(image) || spw_resize(image, w, h) || spw_unpremultiply(image) ? -1 : 0;
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
	VipsImage *frame = run->frame;
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
	if (!spw_has_size(run, run->frame, all.width, all.height) &&
		spw_scale(run, &run->frame, all.width, all.height))
		return -1;
	return spw_hold_frames(run) || spw_stand_up(run) ? -1 : 0;
}
