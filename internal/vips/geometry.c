/* Steps that move pixels: crop, turn, resize, pad, and finding what to cut. */
#include <stdlib.h>

#include "stages.h"

/* Keep the last lines of a picture that is read once from top to bottom, for a
 * step that looks some lines up and down. 384 are twice the widest look of a
 * blur or a sharpening (25 lines) and the strips that savers ask for.
 */
int
spw_window(VipsImage **image)
{
	VipsImage *out;

	if (vips_tilecache(*image, &out, "tile_width", (*image)->Xsize, "tile_height", 16, "max_tiles", 384 / 16,
		    "access", VIPS_ACCESS_SEQUENTIAL, NULL))
		return -1;
	spw_replace(image, out);
	return 0;
}

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

static int
differs(const VipsPel *pixel, const VipsPel *corner, int bands, double threshold)
{
	for (int b = 0; b < bands; b++)
		if (abs(pixel[b] - corner[b]) >= threshold)
			return 1;
	return 0;
}

/* Widen the box by what a row has between its first and its last difference. */
static void
widen(SpwRect *box, const VipsPel *row, int y, const VipsImage *image, const VipsPel *corner, double threshold)
{
	int bands = image->Bands, left = 0, right = image->Xsize;

	while (left < right && !differs(row + left * bands, corner, bands, threshold))
		left++;
	if (left == right)
		return;
	while (!differs(row + (right - 1) * bands, corner, bands, threshold))
		right--;
	if (!box->height)
		*box = (SpwRect){ left, y, right - left, 0 };
	right = VIPS_MAX(right, box->x + box->width);
	box->x = VIPS_MIN(box->x, left);
	box->width = right - box->x;
	box->height = y + 1 - box->y;
}

static int
scan(VipsImage *image, double threshold, SpwRect *box)
{
	VipsRegion *region = vips_region_new(image);
	VipsRect line = { 0, 0, image->Xsize, 1 };
	VipsPel *corner = NULL;
	int result = 0;

	for (; line.top < image->Ysize && !result; line.top++) {
		result = vips_region_prepare(region, &line);
		if (result)
			break;
		if (!corner)
			corner = g_memdup2(VIPS_REGION_ADDR(region, 0, 0), image->Bands);
		widen(box, VIPS_REGION_ADDR(region, 0, line.top), line.top, image, corner, threshold);
	}
	g_free(corner);
	g_object_unref(region);
	return result;
}

/* The box of all that differs from the corner, to the pixel: vips_find_trim
 * looks through a median, which takes fine lines for noise, and does not see
 * white on nothing. Premultiplied, a pixel differs as much as it shows.
 *
 * An empty box (all one colour) comes back as the whole picture: there is no
 * border where there is nothing inside it.
 */
int
spw_trim_box(VipsImage *image, double threshold, SpwRect *box)
{
	VipsImage *work = image;
	int result;

	*box = (SpwRect){ 0 };
	g_object_ref(work);
	result = spw_weigh(&work) || scan(work, threshold, box);
	g_object_unref(work);
	if (!result && !box->height)
		*box = (SpwRect){ 0, 0, image->Xsize, image->Ysize };
	return result ? -1 : 0;
}
