/* Metadata in WebP. The saver of libvips writes them together with the
 * picture, in a call that nothing can stop; here the picture is encoded first
 * and the container made around it.
 */
#include <string.h>

#include <webp/mux.h>

#include "stages.h"

static int
has(VipsImage *image, const char *name)
{
	return vips_image_get_typeof(image, name) != 0;
}

static int
has_exif(VipsImage *image)
{
	return has(image, VIPS_META_EXIF_NAME) || has(image, "exif-ifd0-Copyright") || has(image, "exif-ifd0-Artist");
}

int
spw_webp_has_metadata(VipsImage *image)
{
	return has(image, VIPS_META_ICC_NAME) || has(image, VIPS_META_XMP_NAME) || has_exif(image);
}

/* EXIF: libvips makes the block out of its fields only while it saves. A PNG of
 * one colour and of the same size, which the block tells of, is the cheapest
 * file to save, and the block is a chunk of it.
 */
static const char empty_block[] = "Exif\0\0II*\0\10\0\0\0\0\0\0\0\0";

static int
save_blank(VipsImage *image, int width, int height, void **png, size_t *length)
{
	VipsImage *steps[3] = { NULL };
	int result = vips_extract_area(image, &steps[0], 0, 0, 1, 1, NULL) ||
		vips_extract_band(steps[0], &steps[1], 0, NULL) || vips_zoom(steps[1], &steps[2], width, height, NULL);

	if (!result) {
		vips_image_remove(steps[2], VIPS_META_PAGE_HEIGHT);
		/* Without a block there is nothing that fields are written to. */
		if (!has(steps[2], VIPS_META_EXIF_NAME))
			vips_image_set_blob_copy(steps[2], VIPS_META_EXIF_NAME, empty_block, sizeof(empty_block));
	}
	result = result ||
		vips_pngsave_buffer(steps[2], png, length, "bitdepth", 1, "compression", 1, "filter",
			VIPS_FOREIGN_PNG_FILTER_NONE, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
		VIPS_UNREF(steps[i]);
	return result ? -1 : 0;
}

static size_t
big_endian(const unsigned char *p)
{
	return (size_t) p[0] << 24 | (size_t) p[1] << 16 | (size_t) p[2] << 8 | p[3];
}

/* The content of a chunk, or NULL. */
static const unsigned char *
find_chunk(const unsigned char *png, size_t length, const char *name, size_t *size)
{
	for (size_t at = 8; at + 12 <= length; at += *size + 12) {
		*size = big_endian(png + at);
		if (*size > length - at - 12)
			break;
		if (memcmp(png + at + 4, name, 4) == 0)
			return png + at + 8;
	}
	return NULL;
}

/* The block begins as it does in JPEG, which is how libvips writes and readers
 * of WebP expect it.
 */
static int
exif_block(VipsImage *image, int width, int height, GByteArray *block)
{
	void *png;
	size_t length, size;
	const unsigned char *chunk;

	if (save_blank(image, width, height, &png, &length))
		return -1;
	chunk = find_chunk(png, length, "eXIf", &size);
	if (chunk) {
		g_byte_array_append(block, (const guint8 *) "Exif\0", 6);
		g_byte_array_append(block, chunk, size);
	}
	g_free(png);
	if (!chunk)
		vips_error("spillway", "no EXIF block was made");
	return chunk ? 0 : -1;
}

static int
add(WebPMux *mux, const char *chunk, const void *bytes, size_t size)
{
	WebPData data = { bytes, size };

	if (WebPMuxSetChunk(mux, chunk, &data, 1) == WEBP_MUX_OK)
		return 0;
	vips_error("spillway", "libwebpmux takes no %s", chunk);
	return -1;
}

static int
add_field(WebPMux *mux, const char *chunk, VipsImage *image, const char *name)
{
	const void *blob;
	size_t size;

	if (!has(image, name))
		return 0;
	return vips_image_get_blob(image, name, &blob, &size) || add(mux, chunk, blob, size) ? -1 : 0;
}

static int
add_exif(WebPMux *mux, VipsImage *image, int width, int height)
{
	GByteArray *block = g_byte_array_new();
	int result = 0;

	if (has_exif(image))
		result = exif_block(image, width, height, block) || add(mux, "EXIF", block->data, block->len);
	g_byte_array_free(block, TRUE);
	return result ? -1 : 0;
}

static int
assemble(WebPMux *mux, VipsTarget *target)
{
	WebPData file;
	int result = -1;

	WebPDataInit(&file);
	if (WebPMuxAssemble(mux, &file) == WEBP_MUX_OK)
		result = vips_target_write(target, file.bytes, file.size) || vips_target_end(target) ? -1 : 0;
	else
		vips_error("spillway", "libwebpmux cannot assemble");
	WebPDataClear(&file);
	return result;
}

/* Write an encoded picture or animation, of frames of that size, with what is
 * kept on image, which is in memory.
 */
int
spw_write_webp(VipsImage *image, int width, int height, const void *encoded, size_t length, VipsTarget *target)
{
	WebPData data = { encoded, length };
	WebPMux *mux = WebPMuxCreate(&data, 0);
	int result;

	if (!mux) {
		vips_error("spillway", "libwebpmux cannot read what libwebp wrote");
		return -1;
	}
	result = add_field(mux, "ICCP", image, VIPS_META_ICC_NAME) || add_exif(mux, image, width, height) ||
		add_field(mux, "XMP ", image, VIPS_META_XMP_NAME) || assemble(mux, target);
	WebPMuxDelete(mux);
	return result ? -1 : 0;
}
