/* Telling an sRGB profile from any other without running it: half the
 * pictures of the web carry one, and converting sRGB to sRGB costs as much as
 * resizing.
 */
#include <math.h>
#include <string.h>

#include "stages.h"

typedef struct {
	const unsigned char *data;
	size_t length;
} Profile;

static uint32_t
u32(const unsigned char *p)
{
	return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

static uint32_t
u16(const unsigned char *p)
{
	return (uint32_t) p[0] << 8 | p[1];
}

static double
fixed(const unsigned char *p)
{
	return (int32_t) u32(p) / 65536.0;
}

/* ICC.1:2010, 7.3: the tag table is a count at 128, then 12 bytes a tag. */
static const unsigned char *
tag(const Profile *profile, const char *name, size_t minimum, size_t *length)
{
	uint32_t count;

	if (profile->length < 132)
		return NULL;
	count = u32(profile->data + 128);
	for (uint32_t i = 0; i < count && 132 + 12 * ((size_t) i + 1) <= profile->length; i++) {
		const unsigned char *entry = profile->data + 132 + 12 * (size_t) i;
		size_t offset = u32(entry + 4);
		size_t size = u32(entry + 8);

		if (memcmp(entry, name, 4) != 0)
			continue;
		if (size < minimum || offset > profile->length || size > profile->length - offset)
			return NULL;
		*length = size;
		return profile->data + offset;
	}
	return NULL;
}

/* The colorants of sRGB adapted to D50, as IEC 61966-2-1 profiles state them. */
static int
colorant_matches(const Profile *profile, const char *name, const double want[3])
{
	size_t length;
	const unsigned char *xyz = tag(profile, name, 20, &length);

	if (!xyz)
		return 0;
	for (int i = 0; i < 3; i++)
		if (fabs(fixed(xyz + 8 + 4 * i) - want[i]) > 0.003)
			return 0;
	return 1;
}

static double
srgb_curve(double x)
{
	return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

/* Parametric curves, ICC.1:2010, 10.16: only type 3 is sRGB's own form. */
static double
parametric(const unsigned char *curve, double x)
{
	double g = fixed(curve + 12), a = fixed(curve + 16), b = fixed(curve + 20);
	double c = fixed(curve + 24), d = fixed(curve + 28);

	return x >= d ? pow(a * x + b, g) : c * x;
}

static double
tabulated(const unsigned char *curve, uint32_t count, double x)
{
	double at = x * (count - 1);
	uint32_t low = (uint32_t) at;
	uint32_t high = low + 1 < count ? low + 1 : low;
	double from = u16(curve + 12 + 2 * (size_t) low), to = u16(curve + 12 + 2 * (size_t) high);

	return (from + (to - from) * (at - low)) / 65535.0;
}

static int
curve_matches(const Profile *profile, const char *name)
{
	size_t length;
	const unsigned char *curve = tag(profile, name, 12, &length);
	int is_parametric;
	uint32_t count = 0;

	if (!curve)
		return 0;
	is_parametric = memcmp(curve, "para", 4) == 0;
	if (is_parametric) {
		if (u16(curve + 8) != 3 || length < 32)
			return 0;
	}
	else {
		count = u32(curve + 8);
		if (memcmp(curve, "curv", 4) != 0 || count < 2 || (length - 12) / 2 < count)
			return 0;
	}
	for (int i = 0; i <= 16; i++) {
		double x = i / 16.0;
		double y = is_parametric ? parametric(curve, x) : tabulated(curve, count, x);

		if (fabs(y - srgb_curve(x)) > 0.004)
			return 0;
	}
	return 1;
}

static int
embedded(VipsImage *image, Profile *profile)
{
	const void *data;

	if (!vips_image_get_typeof(image, VIPS_META_ICC_NAME) ||
		vips_image_get_blob(image, VIPS_META_ICC_NAME, &data, &profile->length))
		return -1;
	profile->data = data;
	return 0;
}

static int
is_of(const Profile *profile, const char *space)
{
	return profile->length >= 132 && memcmp(profile->data + 16, space, 4) == 0;
}

/* Whether the profile describes pixels of this kind. libvips would run a
 * profile for grey over the first band of three, and take the rest for alpha.
 */
int
spw_profile_matches(VipsImage *image)
{
	Profile profile;

	if (embedded(image, &profile))
		return 0;
	switch (vips_image_guess_interpretation(image)) {
	case VIPS_INTERPRETATION_B_W:
	case VIPS_INTERPRETATION_GREY16:
		return is_of(&profile, "GRAY");
	case VIPS_INTERPRETATION_CMYK:
		return is_of(&profile, "CMYK");
	case VIPS_INTERPRETATION_sRGB:
	case VIPS_INTERPRETATION_RGB:
	case VIPS_INTERPRETATION_RGB16:
	case VIPS_INTERPRETATION_scRGB:
		return is_of(&profile, "RGB ");
	default:
		return 0;
	}
}

static int
tags_lie_within(const Profile *profile)
{
	uint32_t count = u32(profile->data + 128);

	if (count > (profile->length - 132) / 12)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		const unsigned char *entry = profile->data + 132 + 12 * (size_t) i;
		size_t offset = u32(entry + 4), size = u32(entry + 8);

		if (offset % 4 || offset > profile->length || size > profile->length - offset)
			return 0;
	}
	return 1;
}

/* libpng writes no profile that it has a doubt about. */
static int
pleases_libpng(const Profile *profile)
{
	static const unsigned char d50[12] = { 0, 0, 0xf6, 0xd6, 0, 1, 0, 0, 0, 0, 0xd3, 0x2d };
	const unsigned char *class = profile->data + 12, *pcs = profile->data + 20;

	return profile->length == u32(profile->data) && (profile->data[8] <= 3 || profile->length % 4 == 0) &&
		(!memcmp(class, "mntr", 4) || !memcmp(class, "scnr", 4) || !memcmp(class, "prtr", 4) ||
			!memcmp(class, "spac", 4)) &&
		(!memcmp(pcs, "XYZ ", 4) || !memcmp(pcs, "Lab ", 4)) && !memcmp(profile->data + 36, "acsp", 4) &&
		u32(profile->data + 64) < 4 && !memcmp(profile->data + 68, d50, sizeof(d50)) &&
		tags_lie_within(profile);
}

/* Whether a result of that format can carry the profile of its pixels; some
 * formats make RGB of grey.
 */
int
spw_profile_is_kept(VipsImage *image, int format)
{
	Profile profile;

	if (embedded(image, &profile) || !spw_profile_matches(image) || format == SPW_GIF)
		return 0;
	if (is_of(&profile, "GRAY") && (format == SPW_WEBP || format == SPW_AVIF))
		return 0;
	return format != SPW_PNG || pleases_libpng(&profile);
}

/* Relative colorimetric, unless the profile is a table for the perceptual
 * intent alone: asked for another, libvips would quietly not use it at all.
 */
VipsIntent
spw_profile_intent(VipsImage *image)
{
	Profile profile;
	size_t length;

	if (embedded(image, &profile))
		return VIPS_INTENT_RELATIVE;
	if (tag(&profile, "A2B0", 8, &length) && !tag(&profile, "A2B1", 8, &length))
		return VIPS_INTENT_PERCEPTUAL;
	return VIPS_INTENT_RELATIVE;
}

int
spw_is_srgb_profile(VipsImage *image)
{
	static const double red[3] = { 0.4361, 0.2225, 0.0139 };
	static const double green[3] = { 0.3851, 0.7169, 0.0971 };
	static const double blue[3] = { 0.1431, 0.0606, 0.7141 };
	Profile profile;
	size_t ignored;

	if (embedded(image, &profile))
		return 0;
	if (tag(&profile, "A2B0", 8, &ignored) || profile.length < 132 || memcmp(profile.data + 16, "RGB ", 4) != 0)
		return 0;
	return colorant_matches(&profile, "rXYZ", red) && colorant_matches(&profile, "gXYZ", green) &&
		colorant_matches(&profile, "bXYZ", blue) && curve_matches(&profile, "rTRC") &&
		curve_matches(&profile, "gTRC") && curve_matches(&profile, "bTRC");
}
