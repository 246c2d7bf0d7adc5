/* From encoded bytes to a lazy image: the loader is named by our own sniffing,
 * never searched for.
 */
#include <string.h>

#include "stages.h"

/* Guard: a node that passes pixels through. It is how a run is stopped from
 * inside any stage, and how a failed save is told from a failed decode, which
 * libvips, being lazy, reports in the same breath.
 */
typedef struct {
	SpwJob *job;
	int source;
} Guard;

static int
guard_generate(VipsRegion *out, void *sequence, void *a, void *b, gboolean *stop)
{
	VipsRegion *in = (VipsRegion *) sequence;
	Guard *guard = (Guard *) b;
	VipsRect *area = &out->valid;

	if (spw_cancelled(guard->job)) {
		vips_error("spillway", "cancelled");
		return -1;
	}
	if (vips_region_prepare(in, area)) {
		if (guard->source)
			__atomic_store_n(&guard->job->decode_failed, 1, __ATOMIC_RELAXED);
		return -1;
	}
	return vips_region_region(out, in, area, area->left, area->top);
}

int
spw_guard(SpwJob *job, VipsImage **image, int source)
{
	VipsImage *out = vips_image_new();
	Guard *guard = VIPS_NEW(out, Guard);

	guard->job = job;
	guard->source = source;
	if (vips_image_pipelinev(out, VIPS_DEMAND_STYLE_ANY, *image, NULL) ||
		vips_image_generate(out, vips_start_one, guard_generate, vips_stop_one, *image, guard)) {
		g_object_unref(out);
		return -1;
	}
	vips_object_local(out, *image);
	*image = out;
	return 0;
}

/* Evaluate the pipeline behind *image. What follows may read in any order. */
int
spw_to_memory(SpwJob *job, VipsImage **image)
{
	VipsImage *out = vips_image_copy_memory(*image);

	if (!out)
		return -1;
	spw_replace(image, out);
	return spw_guard(job, image, 0);
}

/* The options every loader takes: stop at the first error, read top down. */
#define STRICT "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR

static int
load_whole(SpwJob *job, const SpwLoad *load, void *src, size_t length, VipsImage **out)
{
	VipsSource *source = spw_stoppable_source(job, src, length);
	int result;

	if (load->format == SPW_JPEG)
		result = vips_jpegload_source(source, out, STRICT, "shrink", load->shrink, NULL);
	else
		result = vips_pngload_source(source, out, STRICT, NULL);
	g_object_unref(source);
	return result;
}

static int
load_heif(const SpwLoad *load, void *src, size_t length, VipsImage **out)
{
	/* Page 0 means the primary picture, which need not be the first. */
	if (load->page > 0)
		return vips_heifload_buffer(src, length, out, STRICT, "page", load->page, NULL);
	return vips_heifload_buffer(src, length, out, STRICT, NULL);
}

static int
load_raw(const SpwLoad *load, void *src, size_t length, VipsImage **out)
{
	VipsImage *raw = vips_image_new_from_memory(src, length, load->width, load->height, 4, VIPS_FORMAT_UCHAR);
	int result;

	if (!raw)
		return -1;
	result = vips_copy(raw, out, "interpretation", VIPS_INTERPRETATION_sRGB, NULL);
	g_object_unref(raw);
	return result;
}

static int
load_format(SpwJob *job, const SpwLoad *load, void *src, size_t length, VipsImage **out)
{
	if (load->whole)
		return load_whole(job, load, src, length, out);
	switch (load->format) {
	case SPW_JPEG:
		return vips_jpegload_buffer(src, length, out, STRICT, "shrink", load->shrink, NULL);
	case SPW_PNG:
		return vips_pngload_buffer(src, length, out, STRICT, NULL);
	case SPW_WEBP:
		return vips_webpload_buffer(src, length, out, STRICT, "page", load->page, "n", load->frames, "scale",
			load->scale, NULL);
	case SPW_GIF:
		return vips_gifload_buffer(src, length, out, STRICT, "page", load->page, "n", load->frames, NULL);
	case SPW_TIFF:
		return vips_tiffload_buffer(src, length, out, STRICT, "page", load->page, NULL);
	case SPW_HEIF:
	case SPW_AVIF:
		return load_heif(load, src, length, out);
	case SPW_SVG:
		return vips_svgload_buffer(src, length, out, STRICT, "dpi", 72.0, "scale", load->scale, NULL);
	case SPW_JXL:
		return vips_jxlload_buffer(src, length, out, STRICT, NULL);
	case SPW_JP2:
		return vips_jp2kload_buffer(src, length, out, STRICT, NULL);
	case SPW_PDF:
		return vips_pdfload_buffer(src, length, out, STRICT, "dpi", 96.0, "page", load->page, "scale",
			load->scale, NULL);
	case SPW_RAW:
		return load_raw(load, src, length, out);
	}
	vips_error("spillway", "no loader for format %d", load->format);
	return -1;
}

/* What this process has encoded itself: if it fails, the source is not to
 * blame. encoded has to outlive *out.
 */
int
spw_load_own(SpwJob *job, int format, const SpwEncoded *encoded, VipsImage **out)
{
	SpwLoad load = { .format = format, .frames = 1, .shrink = 1, .scale = 1 };

	if (load_format(job, &load, encoded->data, encoded->length, out))
		return -1;
	return spw_guard(job, out, 0);
}

/* Give image blobs of its own. Those of the loader for HEIF and AVIF lie in
 * memory of the loader's image: held pixels outlive that, and their profile
 * would be whatever came to lie there. Other loaders copy theirs, and setting
 * EXIF again would parse it again.
 */
static void
own_blobs(VipsImage *image)
{
	char **names = vips_image_get_fields(image);
	const void *blob;
	size_t length;

	for (int i = 0; names[i]; i++)
		if (vips_image_get_typeof(image, names[i]) == VIPS_TYPE_BLOB &&
			!vips_image_get_blob(image, names[i], &blob, &length))
			vips_image_set_blob_copy(image, names[i], blob, length);
	g_strfreev(names);
}

int
spw_load(SpwJob *job, const SpwLoad *load, const void *src, size_t length, VipsImage **out)
{
	if (load_format(job, load, (void *) src, length, out) || spw_guard(job, out, 1))
		return -1;
	if (load->format == SPW_HEIF || load->format == SPW_AVIF)
		own_blobs(*out);
	return 0;
}

/* Probe */

static int
space_of(VipsImage *image)
{
	switch (vips_image_guess_interpretation(image)) {
	case VIPS_INTERPRETATION_sRGB:
	case VIPS_INTERPRETATION_RGB:
	case VIPS_INTERPRETATION_RGB16:
	case VIPS_INTERPRETATION_scRGB:
		return SPW_SPACE_SRGB;
	case VIPS_INTERPRETATION_B_W:
	case VIPS_INTERPRETATION_GREY16:
		return SPW_SPACE_GRAY;
	case VIPS_INTERPRETATION_CMYK:
		return SPW_SPACE_CMYK;
	case VIPS_INTERPRETATION_LAB:
	case VIPS_INTERPRETATION_LABS:
	case VIPS_INTERPRETATION_LABQ:
		return SPW_SPACE_LAB;
	default:
		return SPW_SPACE_UNKNOWN;
	}
}

static int
int_field(VipsImage *image, const char *name, int otherwise)
{
	int value;

	if (vips_image_get_typeof(image, name) != G_TYPE_INT || vips_image_get_int(image, name, &value))
		return otherwise;
	return value;
}

static int
bits_of(VipsImage *image)
{
	static const char *const fields[] = { "bits-per-sample", "palette-bit-depth", "heif-bitdepth" };

	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
		int bits = int_field(image, fields[i], 0);

		if (bits > 0)
			return bits;
	}
	return (int) vips_format_sizeof(image->BandFmt) * 8;
}

static void
read_delays(VipsImage *image, SpwInfo *info, int *delays, int max_delays)
{
	int *array;
	int n;

	if (!vips_image_get_typeof(image, "delay") || vips_image_get_array_int(image, "delay", &array, &n))
		return;
	info->delays = VIPS_MIN(n, max_delays);
	memcpy(delays, array, info->delays * sizeof(int));
}

int
spw_probe(SpwJob *job, const void *src, size_t length, SpwInfo *info, int *delays, int max_delays)
{
	VipsImage *image;

	memset(info, 0, sizeof(*info));
	if (load_format(job, &job->load, (void *) src, length, &image))
		return spw_conclude(job, SPW_DECODE);
	info->width = image->Xsize;
	info->height = vips_image_get_page_height(image);
	info->orientation = int_field(image, "orientation", 1);
	info->pages = int_field(image, "n-pages", 1);
	info->bands = image->Bands;
	info->alpha = vips_image_hasalpha(image);
	info->bits = bits_of(image);
	info->space = space_of(image);
	info->profile = vips_image_get_typeof(image, VIPS_META_ICC_NAME) != 0;
	info->interlaced = int_field(image, "interlaced", 0) || int_field(image, "jpeg-multiscan", 0);
	info->loop = int_field(image, "loop", 0);
	read_delays(image, info, delays, max_delays);
	g_object_unref(image);
	return SPW_OK;
}
