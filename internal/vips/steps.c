/* Steps that change pixels in place. */
#include <math.h>

#include "stages.h"

/* The sigma, in pixels, of a blur that is done as it is. */
#define NARROW 4.0

static int
gauss(VipsImage **image, double sigma)
{
	VipsImage *out;

	if (vips_gaussblur(*image, &out, sigma, NULL))
		return -1;
	spw_replace(image, out);
	return 0;
}

/* The cost of a blur grows with its sigma, up to a minute for the largest on a
 * large picture. A wide one leaves no detail, so it is done on a smaller
 * picture, where the same blur is narrow.
 */
int
spw_blur(SpwJob *job, VipsImage **image, double sigma)
{
	int width = (*image)->Xsize, height = (*image)->Ysize;
	double factor = VIPS_MAX(1, floor(sigma / NARROW));
	int narrow_width = VIPS_MAX(1, (int) (width / factor)), narrow_height = VIPS_MAX(1, (int) (height / factor));

	if (factor < 2)
		return spw_window(image) || gauss(image, sigma) ? -1 : 0;
	return spw_resize(image, narrow_width, narrow_height) || spw_to_memory(job, image) ||
			gauss(image, sigma / factor) || spw_resize(image, width, height)
		? -1
		: 0;
}

static int
visible_colour(VipsImage *image, VipsImage **out)
{
	return vips_extract_band(image, out, 0, "n", image->Bands < 3 ? 1 : 3, NULL);
}

/* The colours around each pixel by how much they show, in all bands but alpha.
 * In float, because a trace of alpha has to carry a whole colour.
 */
static int
surroundings(VipsImage *image, double sigma, VipsImage **out)
{
	VipsImage *steps[4] = { NULL };
	int result = vips_premultiply(image, &steps[0], NULL) || vips_gaussblur(steps[0], &steps[1], sigma, NULL) ||
		vips_unpremultiply(steps[1], &steps[2], NULL) ||
		vips_cast(steps[2], &steps[3], VIPS_FORMAT_UCHAR, NULL) || visible_colour(steps[3], out);

	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
		VIPS_UNREF(steps[i]);
	return result ? -1 : 0;
}

/* The picture without its alpha, the colours beside an edge continued beyond
 * it as far as a sharpening looks: or it would sharpen against black.
 */
static int
beyond_edges(VipsImage *image, double sigma, VipsImage **out)
{
	VipsImage *steps[3] = { NULL };
	int result;

	if (!vips_image_hasalpha(image))
		return visible_colour(image, out);
	result = surroundings(image, VIPS_MAX(1, 1.5 * sigma), &steps[0]) ||
		vips_composite2(steps[0], image, &steps[1], VIPS_BLEND_MODE_OVER, NULL) ||
		vips_cast(steps[1], &steps[2], VIPS_FORMAT_UCHAR, NULL) || visible_colour(steps[2], out);
	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
		VIPS_UNREF(steps[i]);
	return result ? -1 : 0;
}

/* Sharpening is for what is seen; the mask of alpha is left as it is. */
int
spw_sharpen(VipsImage **image, double sigma)
{
	VipsImage *colour = NULL, *alpha = NULL, *sharp = NULL, *out = NULL;
	int result = -1;

	if (beyond_edges(*image, sigma, &colour) || vips_sharpen(colour, &sharp, "sigma", sigma, NULL) ||
		spw_cast_8bit(&sharp))
		goto done;
	if (vips_image_hasalpha(*image)) {
		if (vips_extract_band(*image, &alpha, (*image)->Bands - 1, NULL) ||
			vips_bandjoin2(sharp, alpha, &out, NULL))
			goto done;
		spw_replace(image, out);
	}
	else {
		g_object_ref(sharp);
		spw_replace(image, sharp);
	}
	result = 0;
done:
	VIPS_UNREF(colour);
	VIPS_UNREF(alpha);
	VIPS_UNREF(sharp);
	return result;
}

static int
fade(VipsImage **mark, double opacity)
{
	double scale[4] = { 1, 1, 1, opacity };
	double zero[4] = { 0, 0, 0, 0 };
	VipsImage *out;

	if (opacity >= 1)
		return 0;
	if (vips_linear(*mark, &out, scale, zero, 4, "uchar", TRUE, NULL))
		return -1;
	spw_replace(mark, out);
	return 0;
}

/* Its own size, or a share of the picture's width; never larger than the
 * picture, never below a pixel.
 */
static void
mark_size(const SpwOverlay *overlay, VipsImage *mark, int width, int height, int *w, int *h)
{
	double factor = overlay->scale > 0 ? overlay->scale * width / mark->Xsize : 1;

	factor = VIPS_MIN(factor, (double) width / mark->Xsize);
	factor = VIPS_MIN(factor, (double) height / mark->Ysize);
	*w = VIPS_MAX(1, (int) (mark->Xsize * factor + 0.5));
	*h = VIPS_MAX(1, (int) (mark->Ysize * factor + 0.5));
}

static int
place(int side, int room, int offset)
{
	switch (side) {
	case -1:
		return offset;
	case 1:
		return room - offset;
	}
	return room / 2 + offset;
}

/* Scale the decoded mark for a picture of this size. */
static int
fit_mark(SpwJob *job, VipsImage **mark, int width, int height)
{
	int w, h;

	mark_size(&job->overlay, *mark, width, height, &w, &h);
	if (job->linear)
		return spw_resize_linear(mark, w, h) || fade(mark, job->overlay.opacity) ? -1 : 0;
	return spw_premultiply(mark) || spw_resize(mark, w, h) || spw_unpremultiply(mark) ||
			fade(mark, job->overlay.opacity)
		? -1
		: 0;
}

int
spw_watermark(SpwJob *job, VipsImage **image, VipsImage *mark)
{
	int alpha = vips_image_hasalpha(*image);
	int width = (*image)->Xsize, height = (*image)->Ysize;
	VipsImage *out = NULL, *opaque;
	int x, y, result = -1;

	g_object_ref(mark);
	if (spw_to_rgb(image) || fit_mark(job, &mark, width, height))
		goto done;
	x = place(job->overlay.horizontal, width - mark->Xsize, job->overlay.x);
	y = place(job->overlay.vertical, height - mark->Ysize, job->overlay.y);
	if (vips_composite2(*image, mark, &out, VIPS_BLEND_MODE_OVER, "x", x, "y", y, NULL) || spw_cast_8bit(&out))
		goto done;
	if (!alpha) {
		if (vips_extract_band(out, &opaque, 0, "n", 3, NULL))
			goto done;
		spw_replace(&out, opaque);
	}
	spw_replace(image, out);
	out = NULL;
	result = 0;
done:
	VIPS_UNREF(out);
	g_object_unref(mark);
	return result;
}
