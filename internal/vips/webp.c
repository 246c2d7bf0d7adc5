/* Still WebP straight through libwebp. The saver of libvips up to 8.14 and
 * beyond gives an encode no way to be stopped, and for the format most
 * requests end in, that is a second or two of work for nobody.
 */
#include <webp/encode.h>

#include "stages.h"

typedef struct {
	SpwJob *job;
	VipsTarget *target;
	GByteArray *kept; /* where bytes go instead, unless it is NULL */
} Stop;

static int
on_progress(int percent, const WebPPicture *picture)
{
	const Stop *stop = (const Stop *) picture->user_data;

	return !spw_cancelled(stop->job);
}

static int
on_bytes(const uint8_t *data, size_t length, const WebPPicture *picture)
{
	const Stop *stop = (const Stop *) picture->custom_ptr;

	return vips_target_write(stop->target, data, length) == 0;
}

/* As libvips sets it, so that both paths give the same picture. */
static int
configure(WebPConfig *config, const SpwOutput *output, int quality)
{
	if (!WebPConfigPreset(config, WEBP_PRESET_DEFAULT, (float) quality))
		return -1;
	config->lossless = output->lossless;
	config->method = output->effort;
	return WebPValidateConfig(config) ? 0 : -1;
}

static int
import(WebPPicture *picture, VipsImage *pixels)
{
	const uint8_t *data = (const uint8_t *) VIPS_IMAGE_ADDR(pixels, 0, 0);
	int line = (int) VIPS_IMAGE_SIZEOF_LINE(pixels);

	return pixels->Bands == 4 ? WebPPictureImportRGBA(picture, data, line)
				  : WebPPictureImportRGB(picture, data, line);
}

static int
on_kept(const uint8_t *data, size_t length, const WebPPicture *picture)
{
	const Stop *stop = (const Stop *) picture->custom_ptr;

	g_byte_array_append(stop->kept, data, length);
	return 1;
}

static int
encode(SpwJob *job, const SpwOutput *output, int quality, VipsImage *pixels, Stop *stop)
{
	WebPConfig config;
	WebPPicture picture;
	int ok;

	if (configure(&config, output, quality) || !WebPPictureInit(&picture)) {
		vips_error("spillway", "libwebp is of another version");
		return -1;
	}
	picture.use_argb = config.lossless;
	picture.width = pixels->Xsize;
	picture.height = pixels->Ysize;
	picture.user_data = picture.custom_ptr = stop;
	picture.progress_hook = on_progress;
	picture.writer = stop->kept ? on_kept : on_bytes;
	ok = import(&picture, pixels) && WebPEncode(&config, &picture);
	if (!ok)
		vips_error("spillway", "libwebp fails with error %d", picture.error_code);
	WebPPictureFree(&picture);
	return ok ? 0 : -1;
}

/* Bytes leave as they are made, unless metadata go around them. */
static int
write_picture(SpwJob *job, const SpwOutput *output, int quality, VipsImage *pixels, VipsTarget *target)
{
	Stop stop = { job, target, NULL };
	int result;

	if (!spw_webp_has_metadata(pixels))
		return encode(job, output, quality, pixels, &stop) || vips_target_end(target) ? -1 : 0;
	stop.kept = g_byte_array_new();
	result = encode(job, output, quality, pixels, &stop) ||
		spw_write_webp(pixels, pixels->Xsize, pixels->Ysize, stop.kept->data, stop.kept->len, target);
	g_byte_array_free(stop.kept, TRUE);
	return result ? -1 : 0;
}

int
spw_save_webp_still(SpwJob *job, VipsImage *image, const SpwOutput *output, int quality, VipsTarget *target)
{
	VipsImage *pixels;
	int result = -1;

	g_object_ref(image);
	if (spw_to_rgb(&image) == 0) {
		pixels = vips_image_copy_memory(image);
		if (pixels) {
			result = write_picture(job, output, quality, pixels, target);
			g_object_unref(pixels);
		}
	}
	g_object_unref(image);
	return result;
}
