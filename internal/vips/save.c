/* From finished pixels to bytes, which leave as the encoder makes them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages.h"

int
spw_format_alpha(int format)
{
	return format != SPW_JPEG;
}

/* Sink: libvips' target whose bytes go to Go. The output is announced with
 * its first byte, so that a failure before it can still be answered properly.
 */
typedef struct {
	SpwJob *job;
	const SpwOutput *output;
	int width, height, frames, quality;
	int begun, refused;
} Sink;

static int
sink_write(Sink *sink, const void *data, size_t length)
{
	SpwJob *job = sink->job;

	if (spw_cancelled(job) || sink->refused)
		return -1;
	if (!sink->begun)
		sink->refused = spillwayBegin(job->handle, sink->output->index, sink->width, sink->height,
			sink->frames, sink->quality);
	sink->begun = 1;
	if (!sink->refused)
		sink->refused = spillwayWrite(job->handle, (void *) data, (long long) length) != (long long) length;
	return sink->refused ? -1 : 0;
}

static gint64
on_write(VipsTargetCustom *target, const void *data, gint64 length, void *user)
{
	return sink_write((Sink *) user, data, (size_t) length) ? -1 : length;
}

static VipsTarget *
stream_target(Sink *sink)
{
	VipsTargetCustom *custom = vips_target_custom_new();

	g_signal_connect(custom, "write", G_CALLBACK(on_write), sink);
	return VIPS_TARGET(custom);
}

/* Encoders */

#define STRIP "strip", output->keep == 0

/* Progressive scans come in libjpeg-turbo's order, also where libvips was built
 * with mozjpeg, whose own search for scans leaves the colours to the very end.
 */
static int
save_jpeg(VipsImage *image, const SpwOutput *output, int quality, VipsTarget *target)
{
	return vips_jpegsave_target(image, target, STRIP, "Q", quality, "interlace", output->progressive,
		"optimize_coding", output->effort > 0, "subsample_mode", VIPS_FOREIGN_SUBSAMPLE_AUTO, "optimize_scans", FALSE,
		"trellis_quant", FALSE, "overshoot_deringing", FALSE, "quant_table", 0, NULL);
}

static int
save_png(VipsImage *image, const SpwOutput *output, VipsTarget *target)
{
	return vips_pngsave_target(image, target, STRIP, "compression", output->effort, "interlace",
		output->progressive, "filter", VIPS_FOREIGN_PNG_FILTER_ALL, NULL);
}

static int
save_webp(SpwJob *job, VipsImage *image, const SpwOutput *output, int quality, VipsTarget *target)
{
	int animated = vips_image_get_page_height(image) != image->Ysize;

	return animated ? spw_save_webp_frames(job, image, output, quality, target)
			: spw_save_webp_still(job, image, output, quality, target);
}

static int
save_avif(VipsImage *image, const SpwOutput *output, int quality, VipsTarget *target)
{
	return vips_heifsave_target(image, target, STRIP, "Q", quality, "lossless", output->lossless, "compression",
		VIPS_FOREIGN_HEIF_COMPRESSION_AV1, "effort", output->effort, "bitdepth", 8, "subsample_mode",
		output->lossless ? VIPS_FOREIGN_SUBSAMPLE_OFF : VIPS_FOREIGN_SUBSAMPLE_AUTO, NULL);
}

static int
save_gif(VipsImage *image, const SpwOutput *output, VipsTarget *target)
{
	return vips_gifsave_target(image, target, STRIP, "effort", output->effort, "interlace", output->progressive,
		NULL);
}

/* Below 5 libvips asks libjxl for more loss than it knows, and libjxl then
 * takes its default, which is nearly lossless.
 */
static int
save_jxl(VipsImage *image, const SpwOutput *output, int quality, VipsTarget *target)
{
	return vips_jxlsave_target(image, target, STRIP, "Q", VIPS_MAX(quality, 5), "lossless", output->lossless,
		"effort", output->effort, NULL);
}

/* TIFF is written out of order, so it is made in memory and handed on whole. */
static int
save_tiff(VipsImage *image, const SpwOutput *output, VipsTarget *target)
{
	void *buffer;
	size_t length;
	int result;

	if (vips_tiffsave_buffer(image, &buffer, &length, STRIP, "compression", VIPS_FOREIGN_TIFF_COMPRESSION_DEFLATE,
		    "predictor", VIPS_FOREIGN_TIFF_PREDICTOR_HORIZONTAL, NULL))
		return -1;
	result = vips_target_write(target, buffer, length);
	g_free(buffer);
	return result || vips_target_end(target) ? -1 : 0;
}

static int
save_format(SpwJob *job, VipsImage *image, const SpwOutput *output, int quality, VipsTarget *target)
{
	switch (output->format) {
	case SPW_JPEG:
		return save_jpeg(image, output, quality, target);
	case SPW_PNG:
		return save_png(image, output, target);
	case SPW_WEBP:
		return save_webp(job, image, output, quality, target);
	case SPW_AVIF:
		return save_avif(image, output, quality, target);
	case SPW_GIF:
		return save_gif(image, output, target);
	case SPW_JXL:
		return save_jxl(image, output, quality, target);
	case SPW_TIFF:
		return save_tiff(image, output, target);
	}
	vips_error("spillway", "no saver for format %d", output->format);
	return -1;
}

/* max_bytes */

#define MOST_ENCODES 5

int
spw_try_quality(SpwJob *job, VipsImage *image, const SpwOutput *output, int quality, SpwEncoded *encoded)
{
	VipsTarget *target = vips_target_new_to_memory();
	int result;

	if (!target)
		return -1;
	result = save_format(job, image, output, quality, target);
	if (!result) {
		VipsBlob *blob = NULL;
		const void *data;

		/* The saver has ended the target, and libvips 8.14 moves the bytes to
		 * its blob then: stealing them would be a crash.
		 */
		g_object_get(target, "blob", &blob, NULL);
		data = vips_blob_get(blob, &encoded->length);
		encoded->data = g_memdup2(data, encoded->length);
		encoded->quality = quality;
		vips_area_unref(VIPS_AREA(blob));
	}
	VIPS_UNREF(target);
	return result;
}

/* What is known while a quality is searched for: the highest that fits, 0 when
 * none does yet, the lowest that does not, and the one that was that before.
 */
typedef struct {
	int fits, above, earlier;
	double fits_size, above_size, earlier_size;
	int side; /* how often in a row the same end moved; its sign says which */
} Bracket;

/* Quantisers step about with the distance from the best quality, and near the
 * lowest with the quality itself, so sizes are near a line when they and this
 * ratio are taken by their logarithms.
 */
static double
on_curve(int quality)
{
	return log((quality + 3.0) / (102.0 - quality));
}

static double
from_curve(double place)
{
	double ratio = exp(place);

	return (102 * ratio - 3) / (1 + ratio);
}

/* Logarithm of size by place on the curve, measured on photographs, drawings,
 * text, gradients and noise in all formats: the usual one, for when only one
 * size is known, and the flattest and steepest worth believing.
 */
#define USUAL_SLOPE 0.85
#define FLATTEST 0.35
#define STEEPEST 0.95

/* How much below the budget a guess aims that has nothing below it yet. The
 * last guess is for whether there is any answer at all.
 */
static const double aims[MOST_ENCODES] = { 1, 0.93, 0.8, 0.76, 0 };

/* While nothing fits: down the line through the two sizes nearest. */
static double
down_the_line(const Bracket *bracket, double aim)
{
	double slope = USUAL_SLOPE, place = on_curve(bracket->above);

	if (aim <= 0)
		return 1;
	if (bracket->earlier_size > bracket->above_size)
		slope = log(bracket->earlier_size / bracket->above_size) / (on_curve(bracket->earlier) - place);
	slope = VIPS_CLIP(FLATTEST, slope, STEEPEST);
	return from_curve(place - log(bracket->above_size / aim) / slope);
}

/* Between the two ends, or in the middle where that keeps moving one end only. */
static double
between(const Bracket *bracket, double aim)
{
	double low = on_curve(bracket->fits), high = on_curve(bracket->above);

	if (abs(bracket->side) >= 2 || bracket->above_size <= bracket->fits_size)
		return (bracket->fits + bracket->above) / 2.0;
	aim = VIPS_MAX(aim, bracket->fits_size);
	return from_curve(low + (high - low) * log(aim / bracket->fits_size) /
					log(bracket->above_size / bracket->fits_size));
}

/* Through all three sizes that are known; their curve bends where encoders
 * change their ways. Only the last guess has them all near enough.
 */
static double
on_the_bend(const Bracket *bracket, double aim)
{
	double y = log(aim), low = on_curve(bracket->fits), high = on_curve(bracket->above);
	double a = log(bracket->fits_size), b = log(bracket->above_size), c = log(bracket->earlier_size);
	double place = low * (y - b) * (y - c) / ((a - b) * (a - c)) + high * (y - a) * (y - c) / ((b - a) * (b - c)) +
		on_curve(bracket->earlier) * (y - a) * (y - b) / ((c - a) * (c - b));

	return from_curve(place > low && place < high ? place : (low + high) / 2);
}

static int
next_quality(const Bracket *bracket, int number, double budget)
{
	int last = number == MOST_ENCODES - 1;
	int bends = bracket->earlier_size > bracket->above_size && bracket->above_size > bracket->fits_size;
	double guess;

	if (!bracket->fits)
		guess = down_the_line(bracket, aims[number] * budget);
	else if (last && bends)
		guess = on_the_bend(bracket, 0.97 * budget);
	else
		guess = between(bracket, 0.97 * budget);
	if (!bracket->fits && number == MOST_ENCODES - 2)
		guess = VIPS_MIN(guess, bracket->above / 2.0);
	return VIPS_CLIP(bracket->fits + 1, (int) floor(guess), bracket->above - 1);
}

/* Whether the trial fits. */
static int
narrow(Bracket *bracket, int quality, double size, double budget)
{
	if (size > budget) {
		bracket->earlier = bracket->above;
		bracket->earlier_size = bracket->above_size;
		bracket->above = quality;
		bracket->above_size = size;
		bracket->side = VIPS_MIN(bracket->side, 0) - 1;
		return 0;
	}
	bracket->fits = quality;
	bracket->fits_size = size;
	bracket->side = VIPS_MAX(bracket->side, 0) + 1;
	return 1;
}

static int
quality_matters(const SpwOutput *output)
{
	switch (output->format) {
	case SPW_JPEG:
		return 1;
	case SPW_WEBP:
	case SPW_AVIF:
	case SPW_JXL:
		return !output->lossless;
	}
	return 0;
}

static void
take(SpwEncoded *best, SpwEncoded *trial)
{
	g_free(best->data);
	*best = *trial;
	trial->data = NULL;
}

/* The highest quality whose bytes fit, within a bounded number of encodes of
 * one finished picture. Where quality changes nothing there is one try.
 */
static int
search(SpwJob *job, VipsImage *image, const SpwOutput *output, SpwEncoded *best)
{
	double budget = (double) output->max_bytes;
	int tries = quality_matters(output) ? MOST_ENCODES : 1;
	Bracket bracket = { .above = output->quality + 1 };

	for (int n = 0; n < tries && bracket.above - bracket.fits > 1; n++) {
		SpwEncoded trial = { NULL, 0, 0 };
		int quality = n == 0 ? output->quality : next_quality(&bracket, n, budget);

		if (spw_cancelled(job) || spw_try_quality(job, image, output, quality, &trial))
			return -1;
		if (narrow(&bracket, quality, (double) trial.length, budget))
			take(best, &trial);
		g_free(trial.data);
	}
	return 0;
}

static int
save_within(Sink *sink, VipsImage *image)
{
	SpwEncoded best = { NULL, 0, 0 };
	int stage = SPW_ENCODE;

	if (!search(sink->job, image, sink->output, &best)) {
		sink->quality = best.quality;
		stage = !best.data ? SPW_TOO_LARGE : sink_write(sink, best.data, best.length) ? SPW_SINK : SPW_OK;
	}
	g_free(best.data);
	return stage;
}

static int
save_streaming(Sink *sink, VipsImage *image)
{
	VipsTarget *target = stream_target(sink);
	int result = save_format(sink->job, image, sink->output, sink->quality, target);

	g_object_unref(target);
	if (!result)
		return SPW_OK;
	return sink->refused ? SPW_SINK : SPW_ENCODE;
}

/* Rows of RGBA are there as soon as the pixels are. */
static int
save_raw(Sink *sink, VipsImage *image)
{
	size_t length;
	void *pixels = vips_image_write_to_memory(image, &length);
	int result;

	if (!pixels)
		return SPW_ENCODE;
	result = sink_write(sink, pixels, length) ? SPW_SINK : SPW_OK;
	g_free(pixels);
	return result;
}

/* The quality is found first; its bytes may have been made on the way. */
static int
save_alike(Sink *sink, VipsImage *image)
{
	SpwEncoded found = { NULL, 0, sink->quality };
	int stage = SPW_ENCODE;

	if (spw_find_likeness(sink->job, image, sink->output, sink->frames, &found) == 0) {
		sink->quality = found.quality;
		if (!found.data)
			stage = save_streaming(sink, image);
		else
			stage = sink_write(sink, found.data, found.length) ? SPW_SINK : SPW_OK;
	}
	g_free(found.data);
	return stage;
}

int
spw_save(SpwJob *job, const SpwOutput *output, VipsImage *image, int frames)
{
	Sink sink = { job, output, image->Xsize, image->Ysize / frames, frames, output->quality, 0, 0 };

	if (output->format == SPW_RAW)
		return save_raw(&sink, image);
	if (output->max_bytes > 0)
		return save_within(&sink, image);
	if (output->ssim > 0 && quality_matters(output))
		return save_alike(&sink, image);
	return save_streaming(&sink, image);
}
