/* CMYK without a profile. Inks have no colour by themselves, so one print has
 * to be assumed: coated web offset, as nearly all such files were made for.
 *
 * It is told by what its sixteen overprints look like and mixed between them
 * after Neugebauer, with the Yule-Nielsen factor 2 for the light that spreads
 * in the paper: a tint of half black then is as dark as it prints. The sixteen
 * colours are what layout programs show for these inks at full strength.
 */
#include <math.h>

#include "stages.h"

/* Bit 0 is cyan, 1 magenta, 2 yellow, 3 black. */
static const unsigned char overprints[16][3] = {
	{ 255, 255, 255 }, { 0, 174, 239 }, { 236, 0, 140 }, { 46, 49, 146 }, { 255, 242, 0 }, { 0, 166, 81 },
	{ 237, 28, 36 },   { 54, 54, 57 },  { 35, 31, 32 },  { 0, 9, 15 },    { 30, 0, 8 },    { 5, 0, 12 },
	{ 28, 26, 0 },	   { 0, 12, 4 },    { 26, 0, 0 },    { 0, 0, 0 },
};

#define STEPS 4095

/* Square roots of the overprints' light, and back from one to an sRGB level. */
static float roots[16][3];
static unsigned char levels[STEPS + 1];

void
spw_start_cmyk(void)
{
	for (int k = 0; k < 16; k++)
		for (int b = 0; b < 3; b++)
			roots[k][b] = (float) sqrt(spw_light_of(overprints[k][b] / 255.0));
	for (int i = 0; i <= STEPS; i++) {
		double root = (double) i / STEPS;

		levels[i] = (unsigned char) (255 * spw_level_of(root * root) + 0.5);
	}
}

static void
mix(const VipsPel *inks, VipsPel *out)
{
	float share[4];

	for (int i = 0; i < 4; i++)
		share[i] = inks[i] / 255.0f;
	for (int b = 0; b < 3; b++) {
		float at[16];

		for (int k = 0; k < 16; k++)
			at[k] = roots[k][b];
		for (int i = 3, half = 8; i >= 0; i--, half /= 2)
			for (int k = 0; k < half; k++)
				at[k] += share[i] * (at[k + half] - at[k]);
		out[b] = levels[(int) (at[0] * STEPS + 0.5f)];
	}
}

static int
print_generate(VipsRegion *out, void *sequence, void *a, void *b, gboolean *stop)
{
	VipsRegion *in = (VipsRegion *) sequence;
	VipsRect *area = &out->valid;

	if (vips_region_prepare(in, area))
		return -1;
	for (int y = area->top; y < VIPS_RECT_BOTTOM(area); y++) {
		const VipsPel *from = VIPS_REGION_ADDR(in, area->left, y);
		VipsPel *to = VIPS_REGION_ADDR(out, area->left, y);

		for (int x = 0; x < area->width; x++, from += 4, to += 3)
			mix(from, to);
	}
	return 0;
}

/* From four 8-bit inks to 8-bit sRGB. */
int
spw_print(VipsImage **image)
{
	VipsImage *out = vips_image_new();

	if (vips_image_pipelinev(out, VIPS_DEMAND_STYLE_THINSTRIP, *image, NULL)) {
		g_object_unref(out);
		return -1;
	}
	out->Bands = 3;
	out->Type = VIPS_INTERPRETATION_sRGB;
	if (vips_image_generate(out, vips_start_one, print_generate, vips_stop_one, *image, NULL)) {
		g_object_unref(out);
		return -1;
	}
	vips_object_local(out, *image);
	*image = out;
	return 0;
}
