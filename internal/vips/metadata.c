/* What travels with the pixels: by default nothing. */
#include <stdlib.h>
#include <string.h>

#include "stages.h"

static int
kept(const char *name, int keep)
{
	if (g_str_has_prefix(name, "exif-"))
		return keep & SPW_KEEP_EXIF;
	if (strcmp(name, VIPS_META_XMP_NAME) == 0)
		return keep & SPW_KEEP_XMP;
	if (strcmp(name, VIPS_META_IPTC_NAME) == 0)
		return keep & SPW_KEEP_IPTC;
	if (strcmp(name, VIPS_META_ICC_NAME) == 0)
		return keep & SPW_KEEP_ICC;
	return 0;
}

/* The two notices of authorship, in the image's own strings. */
static const char *const notices[] = { "exif-ifd0-Copyright", "exif-ifd0-Artist" };

/* The notice out of libvips' words for it: "notice (as shown, ASCII, n
 * components, n bytes)", where n counts the final zero. As shown is more than
 * the notice for a copyright, and in brackets too. When libvips writes the field
 * it takes what is before the last bracket.
 */
static char *
notice_of(const char *text)
{
	const char *last = strrchr(text, ',');
	long bytes = last ? strtol(last + 1, NULL, 10) : 0;

	if (!g_str_has_suffix(text, " bytes)") || bytes < 1 || (size_t) bytes > strlen(text))
		return g_strdup(text);
	return g_strdup_printf("%.*s (kept)", (int) bytes - 1, text);
}

static void
read_notices(VipsImage *image, char *texts[2])
{
	for (size_t i = 0; i < G_N_ELEMENTS(notices); i++) {
		const char *text;

		texts[i] = NULL;
		if (vips_image_get_typeof(image, notices[i]) && !vips_image_get_string(image, notices[i], &text))
			texts[i] = notice_of(text);
	}
}

/* Drop every field that is not asked for. The turn was applied to the pixels,
 * so a kept EXIF block must not say it again.
 */
int
spw_keep_metadata(VipsImage **image, int keep)
{
	VipsImage *out;
	char **fields, *texts[2];

	if (vips_copy(*image, &out, NULL))
		return -1;
	read_notices(out, texts);
	fields = vips_image_get_fields(out);
	for (int i = 0; fields[i]; i++)
		if (!kept(fields[i], keep))
			vips_image_remove(out, fields[i]);
	g_strfreev(fields);
	vips_autorot_remove_angle(out);
	for (size_t i = 0; i < G_N_ELEMENTS(notices); i++) {
		if (texts[i] && (keep & (SPW_KEEP_COPYRIGHT | SPW_KEEP_EXIF)))
			vips_image_set_string(out, notices[i], texts[i]);
		g_free(texts[i]);
	}
	spw_replace(image, out);
	return 0;
}

/* Stamp a strip of frames as an animation. */
int
spw_stamp_frames(VipsImage **image, int height, const int *delays, int frames, int plays)
{
	VipsImage *out;

	if (vips_copy(*image, &out, NULL))
		return -1;
	vips_image_set_int(out, VIPS_META_PAGE_HEIGHT, height);
	vips_image_set_array_int(out, "delay", delays, frames);
	vips_image_set_int(out, "loop", plays);
	spw_replace(image, out);
	return 0;
}
