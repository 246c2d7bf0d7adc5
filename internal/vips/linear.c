/* Resizing in linear light. The levels of sRGB are spaced as eyes tell them
 * apart, not by how much light they are: their average is darker than what it
 * stands for, which is seen where fine bright detail becomes one pixel.
 *
 * 16 bits hold the light of all 256 levels apart, the darkest two by 20, in
 * half the memory of floats.
 */
#include <math.h>
#include <stdint.h>

#include "stages.h"

#define MOST_LIGHT 65535

static uint16_t lights[256];
static unsigned char levels[MOST_LIGHT + 1];

double
spw_light_of(double level)
{
	return level <= 0.04045 ? level / 12.92 : pow((level + 0.055) / 1.055, 2.4);
}

double
spw_level_of(double light)
{
	return light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055;
}

void
spw_start_linear(void)
{
	for (int i = 0; i < 256; i++)
		lights[i] = (uint16_t) (MOST_LIGHT * spw_light_of(i / 255.0) + 0.5);
	for (int i = 0; i <= MOST_LIGHT; i++)
		levels[i] = (unsigned char) (255 * spw_level_of((double) i / MOST_LIGHT) + 0.5);
}

/* With alpha also premultiplied, and back: what shows is what is mixed. */
static void
row_to_light(const VipsPel *in, VipsPel *to, int width, int bands, int alpha)
{
	uint16_t *out = (uint16_t *) to;
	int colours = bands - alpha;

	if (!alpha) {
		for (int i = 0; i < width * bands; i++)
			out[i] = lights[in[i]];
		return;
	}
	for (int x = 0; x < width; x++, in += bands, out += bands) {
		for (int b = 0; b < colours; b++)
			out[b] = (uint16_t) ((lights[in[b]] * (unsigned int) in[colours] + 127) / 255);
		out[colours] = (uint16_t) (in[colours] * 257);
	}
}

static void
row_to_levels(const VipsPel *from, VipsPel *out, int width, int bands, int alpha)
{
	const uint16_t *in = (const uint16_t *) from;
	int colours = bands - alpha;

	if (!alpha) {
		for (int i = 0; i < width * bands; i++)
			out[i] = levels[in[i]];
		return;
	}
	for (int x = 0; x < width; x++, in += bands, out += bands) {
		uint32_t cover = in[colours];

		for (int b = 0; b < colours; b++) {
			uint32_t light = cover ? (in[b] * (uint32_t) MOST_LIGHT + cover / 2) / cover : 0;

			out[b] = levels[VIPS_MIN(light, MOST_LIGHT)];
		}
		out[colours] = (VipsPel) ((cover + 128) / 257);
	}
}

typedef void (*LightRow)(const VipsPel *in, VipsPel *out, int width, int bands, int alpha);

static int
rows_generate(VipsRegion *out, void *sequence, void *a, void *b, gboolean *stop)
{
	VipsRegion *in = (VipsRegion *) sequence;
	VipsRect *area = &out->valid;
	LightRow *row = (LightRow *) b;
	int alpha = vips_image_hasalpha(in->im);

	if (vips_region_prepare(in, area))
		return -1;
	for (int y = 0; y < area->height; y++)
		(*row)(VIPS_REGION_ADDR(in, area->left, area->top + y),
			VIPS_REGION_ADDR(out, area->left, area->top + y), area->width, in->im->Bands, alpha);
	return 0;
}

static int
by_rows(VipsImage **image, LightRow row, VipsBandFormat format, VipsInterpretation space)
{
	VipsImage *out = vips_image_new();
	LightRow *keep = VIPS_NEW(out, LightRow);

	*keep = row;
	if (vips_image_pipelinev(out, VIPS_DEMAND_STYLE_THINSTRIP, *image, NULL)) {
		g_object_unref(out);
		return -1;
	}
	out->BandFmt = format;
	out->Type = space;
	if (vips_image_generate(out, vips_start_one, rows_generate, vips_stop_one, *image, keep)) {
		g_object_unref(out);
		return -1;
	}
	vips_object_local(out, *image);
	*image = out;
	return 0;
}

/* Of 8-bit sRGB or grey whose alpha is straight; so it comes back. */
int
spw_resize_linear(VipsImage **image, int width, int height)
{
	int grey = (*image)->Bands < 3;

	if (width == (*image)->Xsize && height == (*image)->Ysize)
		return 0;
	return by_rows(image, row_to_light, VIPS_FORMAT_USHORT,
		       grey ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16) ||
			spw_resize(image, width, height) ||
			by_rows(image, row_to_levels, VIPS_FORMAT_UCHAR,
				grey ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB)
		? -1
		: 0;
}
