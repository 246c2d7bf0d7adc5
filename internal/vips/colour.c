/* Colour and alpha: everything that leaves this file is 8-bit sRGB or grey,
 * or RGB in the space of a profile that the output keeps.
 */
#include <stdint.h>
#include <string.h>

#include "stages.h"

static int
is_grey(VipsImage *image)
{
	return image->Bands < 3;
}

static int
has_profile(VipsImage *image)
{
	return vips_image_get_typeof(image, VIPS_META_ICC_NAME) != 0;
}

int
spw_drop_profile(VipsImage **image)
{
	VipsImage *out;

	if (!has_profile(*image))
		return 0;
	if (vips_copy(*image, &out, NULL))
		return -1;
	vips_image_remove(out, VIPS_META_ICC_NAME);
	spw_replace(image, out);
	return 0;
}

static int
to_space(VipsImage **image, VipsInterpretation space)
{
	VipsImage *out;

	if (vips_colourspace(*image, &out, space, NULL))
		return -1;
	spw_replace(image, out);
	return 0;
}

/* A grey source that went through a profile comes back as three equal bands. */
static int
to_grey(VipsImage **image)
{
	VipsImage *band, *out;
	int result;

	if (vips_extract_band(*image, &band, 0, NULL))
		return -1;
	result = vips_copy(band, &out, "interpretation", VIPS_INTERPRETATION_B_W, NULL);
	g_object_unref(band);
	if (result)
		return -1;
	spw_replace(image, out);
	return 0;
}

/* Run the colour bands, which are all that image has, through their profile. */
static int
through_profile(VipsImage **image)
{
	VipsImage *out;

	if (vips_icc_transform(*image, &out, "srgb", "embedded", TRUE, "intent", spw_profile_intent(*image),
		    "black_point_compensation", TRUE, "depth", 8, NULL))
		return -1;
	spw_replace(image, out);
	return 0;
}

static int
levels_to_8bit(VipsImage **image)
{
	VipsImage *out;
	int result;

	if ((*image)->BandFmt == VIPS_FORMAT_USHORT)
		result = vips_msb(*image, &out, NULL);
	else
		result = vips_cast(*image, &out, VIPS_FORMAT_UCHAR, NULL);
	if (result)
		return -1;
	spw_replace(image, out);
	return 0;
}

/* Inks go through their own profile, or through the print that is assumed for
 * those that have none, or one that does not fit.
 */
static int
transform(VipsImage **image, int cmyk)
{
	if (!cmyk || spw_profile_matches(*image)) {
		if (through_profile(image) == 0)
			return 0;
		if (!cmyk)
			return -1;
		vips_error_clear();
	}
	return levels_to_8bit(image) || spw_print(image) ? -1 : 0;
}

/* Alpha has no colour: it goes around the profile, and is brought to 8 bits
 * here because libvips leaves 16-bit alpha beside 8-bit colour as it was.
 */
static int
by_profile(VipsImage **image)
{
	int cmyk = vips_image_guess_interpretation(*image) == VIPS_INTERPRETATION_CMYK;
	int grey = is_grey(*image);
	int has_alpha = vips_image_hasalpha(*image);
	int bands = (*image)->Bands - (has_alpha ? 1 : 0);
	VipsImage *colour = NULL, *alpha = NULL, *out = NULL;
	int result = -1;

	if (vips_extract_band(*image, &colour, 0, "n", bands, NULL) || transform(&colour, cmyk) ||
		(grey && to_grey(&colour)))
		goto done;
	if (has_alpha && (vips_extract_band(*image, &alpha, bands, NULL) || levels_to_8bit(&alpha) ||
				 vips_bandjoin2(colour, alpha, &out, NULL)))
		goto done;
	if (!out) {
		out = colour;
		colour = NULL;
	}
	spw_replace(image, out);
	result = 0;
done:
	VIPS_UNREF(colour);
	VIPS_UNREF(alpha);
	return result;
}

/* To 8-bit sRGB or grey. A profile that does not fit or does not parse is
 * ignored, as browsers do: the stored numbers are the best guess left.
 */
int
spw_to_srgb(VipsImage **image)
{
	VipsInterpretation space = vips_image_guess_interpretation(*image);
	int grey = space == VIPS_INTERPRETATION_B_W || space == VIPS_INTERPRETATION_GREY16;

	if ((spw_profile_matches(*image) && !spw_is_srgb_profile(*image)) || space == VIPS_INTERPRETATION_CMYK) {
		if (by_profile(image) == 0)
			return spw_drop_profile(image);
		vips_error_clear();
	}
	if (spw_drop_profile(image))
		return -1;
	if ((*image)->BandFmt == VIPS_FORMAT_UCHAR && (*image)->Type == space &&
		(space == VIPS_INTERPRETATION_sRGB || space == VIPS_INTERPRETATION_B_W))
		return 0;
	return to_space(image, grey ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB);
}

/* Resizing is done on 8-bit RGB or grey. Other depths and spaces change first,
 * through their profile where they have one, because a profile describes the
 * stored numbers; 8-bit RGB keeps its profile for after the resize, when
 * there are fewer pixels to convert.
 */
int
spw_to_8bit(VipsImage **image)
{
	VipsInterpretation space = vips_image_guess_interpretation(*image);

	if ((*image)->BandFmt == VIPS_FORMAT_UCHAR &&
		(space == VIPS_INTERPRETATION_sRGB || space == VIPS_INTERPRETATION_B_W) && (*image)->Bands <= 4)
		return 0;
	return spw_to_srgb(image);
}

/* Alpha */

typedef void (*RowFn)(const VipsPel *in, VipsPel *out, int width, int bands);

/* Premultiplied pixels have 16 bits, which hold the product of a level and an
 * alpha of 8 bits as it is. In 8 bits a faint pixel keeps few of its levels, and
 * each of the four passes of a resize rounds again: noise, most of all in the
 * alpha that WebP stores without loss, worth a third of the file.
 */
static void
premultiply_row(const VipsPel *in, VipsPel *to, int width, int bands)
{
	uint16_t *out = (uint16_t *) to;

	for (int x = 0; x < width; x++, in += bands, out += bands) {
		unsigned int alpha = in[bands - 1];

		for (int b = 0; b < bands - 1; b++)
			out[b] = (uint16_t) (in[b] * alpha);
		out[bands - 1] = (uint16_t) (255 * alpha);
	}
}

static void
unpremultiply_row(const VipsPel *from, VipsPel *out, int width, int bands)
{
	const uint16_t *in = (const uint16_t *) from;

	for (int x = 0; x < width; x++, in += bands, out += bands) {
		unsigned int alpha = VIPS_MIN(in[bands - 1], 255 * 255);
		unsigned int opacity = (alpha + 127) / 255;

		for (int b = 0; b < bands - 1; b++) {
			unsigned int colour = opacity ? (255 * in[b] + alpha / 2) / alpha : 0;

			out[b] = (VipsPel) VIPS_MIN(colour, 255);
		}
		out[bands - 1] = (VipsPel) opacity;
	}
}

/* Rounded division by 255 for 0 <= x <= 255 * 255. */
static inline unsigned int
by_255(unsigned int x)
{
	x += 128;
	return (x + (x >> 8)) >> 8;
}

/* How much of each colour shows. */
static void
weigh_row(const VipsPel *in, VipsPel *out, int width, int bands)
{
	for (int x = 0; x < width; x++, in += bands, out += bands) {
		unsigned int alpha = in[bands - 1];

		for (int b = 0; b < bands - 1; b++)
			out[b] = (VipsPel) by_255(in[b] * alpha);
		out[bands - 1] = (VipsPel) alpha;
	}
}

/* Without the colour that a clear pixel hides. */
static void
clear_row(const VipsPel *in, VipsPel *out, int width, int bands)
{
	for (int x = 0; x < width; x++, in += bands, out += bands)
		for (int b = 0; b < bands; b++)
			out[b] = in[bands - 1] ? in[b] : 0;
}

static int
rows_generate(VipsRegion *out, void *sequence, void *a, void *b, gboolean *stop)
{
	VipsRegion *in = (VipsRegion *) sequence;
	VipsRect *area = &out->valid;
	RowFn *row = (RowFn *) b;

	if (vips_region_prepare(in, area))
		return -1;
	for (int y = 0; y < area->height; y++)
		(*row)(VIPS_REGION_ADDR(in, area->left, area->top + y),
			VIPS_REGION_ADDR(out, area->left, area->top + y), area->width, in->im->Bands);
	return 0;
}

/* libvips' own premultiply works in float and costs several times the resize
 * that follows it.
 */
static int
by_rows(VipsImage **image, RowFn row, VipsBandFormat format)
{
	VipsImage *out;
	RowFn *keep;

	if (!vips_image_hasalpha(*image))
		return 0;
	out = vips_image_new();
	keep = VIPS_NEW(out, RowFn);
	*keep = row;
	if (vips_image_pipelinev(out, VIPS_DEMAND_STYLE_THINSTRIP, *image, NULL)) {
		g_object_unref(out);
		return -1;
	}
	out->BandFmt = format;
	if (vips_image_generate(out, vips_start_one, rows_generate, vips_stop_one, *image, keep)) {
		g_object_unref(out);
		return -1;
	}
	vips_object_local(out, *image);
	*image = out;
	return 0;
}

int
spw_premultiply(VipsImage **image)
{
	return by_rows(image, premultiply_row, VIPS_FORMAT_USHORT);
}

int
spw_unpremultiply(VipsImage **image)
{
	return by_rows(image, unpremultiply_row, VIPS_FORMAT_UCHAR);
}

int
spw_weigh(VipsImage **image)
{
	return by_rows(image, weigh_row, VIPS_FORMAT_UCHAR);
}

int
spw_clear(VipsImage **image)
{
	return by_rows(image, clear_row, VIPS_FORMAT_UCHAR);
}

int
spw_flatten(VipsImage **image, const double *background)
{
	VipsArrayDouble *ink;
	VipsImage *out;
	int result;

	if (!vips_image_hasalpha(*image))
		return 0;
	ink = vips_array_double_new(background, is_grey(*image) ? 1 : 3);
	result = vips_flatten(*image, &out, "background", ink, NULL);
	vips_area_unref(VIPS_AREA(ink));
	if (result)
		return -1;
	spw_replace(image, out);
	return 0;
}

int
spw_cast_8bit(VipsImage **image)
{
	VipsImage *out;

	if ((*image)->BandFmt == VIPS_FORMAT_UCHAR)
		return 0;
	if (vips_cast(*image, &out, VIPS_FORMAT_UCHAR, NULL))
		return -1;
	spw_replace(image, out);
	return 0;
}

/* Lay a part-transparent colour below the picture. */
int
spw_underlay(VipsImage **image, const double *ink)
{
	VipsImage *ground, *out;
	int result;

	if (spw_to_rgb(image))
		return -1;
	ground = vips_image_new_from_image(*image, ink, 4);
	if (!ground)
		return -1;
	result = vips_composite2(ground, *image, &out, VIPS_BLEND_MODE_OVER, NULL);
	g_object_unref(ground);
	if (result)
		return -1;
	spw_replace(image, out);
	return spw_cast_8bit(image);
}

int
spw_with_alpha(VipsImage **image)
{
	VipsImage *out;

	if (vips_image_hasalpha(*image))
		return 0;
	if (vips_bandjoin_const1(*image, &out, 255, NULL))
		return -1;
	spw_replace(image, out);
	return 0;
}

int
spw_to_rgb(VipsImage **image)
{
	return is_grey(*image) ? to_space(image, VIPS_INTERPRETATION_sRGB) : 0;
}

int
spw_grayscale(VipsImage **image)
{
	return is_grey(*image) ? 0 : to_space(image, VIPS_INTERPRETATION_B_W);
}
