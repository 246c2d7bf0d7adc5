/* Steps that move pixels: crop, turn, resize, pad, and finding what to cut. */
#include <math.h>

#include "stages.h"

int
spw_crop(VipsImage **image, int x, int y, int width, int height)
{
	VipsImage *out;

	if (x == 0 && y == 0 && width == (*image)->Xsize && height == (*image)->Ysize)
		return 0;
	if (vips_extract_area(*image, &out, x, y, width, height, NULL))
		return -1;
	spw_replace(image, out);
	return 0;
}

int
spw_turn(VipsImage **image, int turns, int mirror)
{
	VipsImage *out;

	if (turns) {
		if (vips_rot(*image, &out, (VipsAngle) turns, NULL))
			return -1;
		spw_replace(image, out);
	}
	if (mirror) {
		if (vips_flip(*image, &out, VIPS_DIRECTION_HORIZONTAL, NULL))
			return -1;
		spw_replace(image, out);
	}
	return 0;
}

/* libvips rounds inside its two-stage reduce; layouts are exact, so a line
 * too many is cut and one too few repeated from the edge.
 */
static int
make_exact(VipsImage **image, int width, int height)
{
	VipsImage *out;

	if ((*image)->Xsize == width && (*image)->Ysize == height)
		return 0;
	if (vips_embed(*image, &out, 0, 0, width, height, "extend", VIPS_EXTEND_COPY, NULL))
		return -1;
	spw_replace(image, out);
	return 0;
}

int
spw_resize(VipsImage **image, int width, int height)
{
	double horizontal = (double) width / (*image)->Xsize;
	double vertical = (double) height / (*image)->Ysize;
	VipsImage *out;

	if (width == (*image)->Xsize && height == (*image)->Ysize)
		return 0;
	if (vips_resize(*image, &out, horizontal, "vscale", vertical, "kernel", VIPS_KERNEL_LANCZOS3, NULL))
		return -1;
	spw_replace(image, out);
	return make_exact(image, width, height);
}

int
spw_canvas(VipsImage **image, const SpwRect *canvas, const double *background)
{
	double grey[2] = { background[0], background[3] };
	int bands = (*image)->Bands;
	VipsArrayDouble *ink = vips_array_double_new(bands < 3 ? grey : background, bands);
	VipsImage *out;
	int result;

	result = vips_embed(*image, &out, canvas->x, canvas->y, canvas->width, canvas->height, "extend",
		VIPS_EXTEND_BACKGROUND, "background", ink, NULL);
	vips_area_unref(VIPS_AREA(ink));
	if (result)
		return -1;
	spw_replace(image, out);
	return 0;
}

/* The place is read from the offset that extract_area leaves, so that every
 * frame of an animation can be cut at the place found for its first.
 */
int
spw_smart_place(VipsImage *image, int smart, int width, int height, int *x, int *y)
{
	VipsInteresting interesting =
		smart == SPW_ENTROPY ? VIPS_INTERESTING_ENTROPY : VIPS_INTERESTING_ATTENTION;
	VipsImage *out;

	if (vips_smartcrop(image, &out, width, height, "interesting", interesting, NULL))
		return -1;
	*x = -out->Xoffset;
	*y = -out->Yoffset;
	g_object_unref(out);
	return 0;
}

/* An empty box (all one colour) comes back as the whole picture: there is no
 * border where there is nothing inside it.
 */
int
spw_trim_box(VipsImage *image, double threshold, SpwRect *box)
{
	VipsImage *work = image;
	double *corner = NULL;
	VipsArrayDouble *ink;
	int bands, result;

	g_object_ref(work);
	if (vips_image_hasalpha(work)) {
		double white[4] = { 255, 255, 255, 255 };

		if (spw_flatten(&work, white)) {
			g_object_unref(work);
			return -1;
		}
	}
	if (vips_getpoint(work, &corner, &bands, 0, 0, NULL)) {
		g_object_unref(work);
		return -1;
	}
	ink = vips_array_double_new(corner, bands);
	g_free(corner);
	result = vips_find_trim(work, &box->x, &box->y, &box->width, &box->height, "threshold", threshold,
		"background", ink, NULL);
	vips_area_unref(VIPS_AREA(ink));
	if (!result && (box->width == 0 || box->height == 0))
		*box = (SpwRect){ 0, 0, image->Xsize, image->Ysize };
	g_object_unref(work);
	return result;
}
