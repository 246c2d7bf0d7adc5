/* Animated WebP straight through libwebp. The saver of libvips 8.14 keeps
 * every picture of an encode that fails or is stopped, and writes an EXIF
 * block of its own making even when all is to be stripped.
 */
#include <webp/encode.h>
#include <webp/mux.h>

#include "stages.h"

typedef struct {
	SpwJob *job;
	VipsImage *strip;
	int height, count;
	const int *delays;
	WebPConfig config;
	WebPAnimEncoder *encoder;
} Animation;

static int
on_progress(int percent, const WebPPicture *picture)
{
	return !spw_cancelled((SpwJob *) picture->user_data);
}

static int
import(WebPPicture *picture, VipsRegion *frame)
{
	const uint8_t *data = VIPS_REGION_ADDR_TOPLEFT(frame);
	int line = (int) VIPS_REGION_LSKIP(frame);

	return frame->im->Bands == 4 ? WebPPictureImportRGBA(picture, data, line)
				     : WebPPictureImportRGB(picture, data, line);
}

static int
add_picture(Animation *animation, VipsRegion *frame, int time)
{
	WebPPicture picture;
	int ok;

	if (!WebPPictureInit(&picture))
		return -1;
	picture.use_argb = 1;
	picture.width = frame->valid.width;
	picture.height = frame->valid.height;
	picture.user_data = animation->job;
	picture.progress_hook = on_progress;
	ok = import(&picture, frame) && WebPAnimEncoderAdd(animation->encoder, &picture, time, &animation->config);
	WebPPictureFree(&picture);
	return ok ? 0 : -1;
}

/* One frame at a time is asked for, which is a part of the strip that finished
 * frames are in.
 */
static int
add_frame(Animation *animation, VipsRegion *frame, int index, int time)
{
	VipsRect area = { 0, index * animation->height, animation->strip->Xsize, animation->height };

	if (vips_region_prepare(frame, &area))
		return -1;
	if (add_picture(animation, frame, time) == 0)
		return 0;
	vips_error("spillway", "libwebp fails at frame %d: %s", index, WebPAnimEncoderGetError(animation->encoder));
	return -1;
}

/* Viewers show a frame of 10 ms or less for 100 ms; saying so keeps the time
 * of all frames together right for those that do not.
 */
static int
add_frames(Animation *animation, int *time)
{
	VipsRegion *frame = vips_region_new(animation->strip);
	int result = 0;

	for (int i = 0; i < animation->count && !result; i++) {
		result = add_frame(animation, frame, i, *time);
		*time += animation->delays[i] <= 10 ? 100 : animation->delays[i];
	}
	g_object_unref(frame);
	return result;
}

static int
write_file(const Animation *animation, const WebPData *data, VipsTarget *target)
{
	if (spw_webp_has_metadata(animation->strip))
		return spw_write_webp(animation->strip, animation->strip->Xsize, animation->height, data->bytes,
			data->size, target);
	return vips_target_write(target, data->bytes, data->size) || vips_target_end(target) ? -1 : 0;
}

static int
assemble(Animation *animation, int time, VipsTarget *target)
{
	WebPData data;
	int result = -1;

	WebPDataInit(&data);
	if (!WebPAnimEncoderAdd(animation->encoder, NULL, time, NULL) ||
		!WebPAnimEncoderAssemble(animation->encoder, &data))
		vips_error("spillway", "libwebp cannot assemble: %s", WebPAnimEncoderGetError(animation->encoder));
	else
		result = write_file(animation, &data, target);
	WebPDataClear(&data);
	return result;
}

static int
prepare(Animation *animation, const SpwOutput *output, int quality)
{
	WebPAnimEncoderOptions options;
	int plays = 0;

	if (!WebPConfigPreset(&animation->config, WEBP_PRESET_DEFAULT, (float) quality) ||
		!WebPAnimEncoderOptionsInit(&options))
		return -1;
	animation->config.lossless = output->lossless;
	animation->config.method = output->effort;
	if (!WebPValidateConfig(&animation->config))
		return -1;
	if (vips_image_get_typeof(animation->strip, "loop") && vips_image_get_int(animation->strip, "loop", &plays))
		return -1;
	options.anim_params.loop_count = plays;
	animation->encoder = WebPAnimEncoderNew(animation->strip->Xsize, animation->height, &options);
	return animation->encoder ? 0 : -1;
}

/* image is a strip that spw_stamp_frames has stamped. */
int
spw_save_webp_frames(SpwJob *job, VipsImage *image, const SpwOutput *output, int quality, VipsTarget *target)
{
	Animation animation = { .job = job, .strip = image, .height = vips_image_get_page_height(image) };
	int *delays, stamped, time = 0, result = -1;

	animation.count = image->Ysize / animation.height;
	if (vips_image_get_array_int(image, "delay", &delays, &stamped))
		return -1;
	animation.delays = delays;
	if (stamped != animation.count) {
		vips_error("spillway", "%d delays for %d frames", stamped, animation.count);
		return -1;
	}
	g_object_ref(image);
	if (spw_to_rgb(&image) == 0) {
		animation.strip = image;
		if (prepare(&animation, output, quality))
			vips_error("spillway", "libwebp takes no such animation");
		else if (add_frames(&animation, &time) == 0)
			result = assemble(&animation, time, target);
	}
	WebPAnimEncoderDelete(animation.encoder);
	g_object_unref(image);
	return result;
}
