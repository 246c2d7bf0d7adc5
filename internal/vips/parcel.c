/* Finished pixels on their way to a helper process, with all that an encoder
 * looks at: in memory that has a descriptor. Both ends are the same program,
 * so structures travel as they are.
 */
#define _GNU_SOURCE
#include <errno.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages.h"

/* Pixels begin on this boundary, as wide as any register. */
#define ALIGNED 64

typedef struct {
	SpwOutput output;
	int frames;
	int width, height, bands, format, interpretation, xoffset, yoffset;
	double xres, yres;
	uint64_t fields, pixels; /* lengths; the fields follow this header */
} Header;

static size_t
pixels_offset(const Header *header)
{
	size_t end = sizeof(*header) + header->fields;

	return (end + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/* Fields: each is a kind, the lengths of its name and its value, and both. The
 * name ends with a zero.
 */
enum { INT, DOUBLE, STRING, BLOB, INTS };

typedef struct {
	uint32_t kind, name, value;
} FieldHeader;

static void
add_field(GByteArray *to, int kind, const char *name, const void *value, size_t length)
{
	FieldHeader header = { kind, strlen(name) + 1, length };

	g_byte_array_append(to, (const guint8 *) &header, sizeof(header));
	g_byte_array_append(to, (const guint8 *) name, header.name);
	g_byte_array_append(to, value, length);
}

static int
pack_field(VipsImage *image, const char *name, GType type, GByteArray *to)
{
	const void *blob;
	const char *text;
	double real;
	size_t length;
	int whole, count, *array;

	if (type == G_TYPE_INT) {
		if (vips_image_get_int(image, name, &whole))
			return -1;
		add_field(to, INT, name, &whole, sizeof(whole));
	}
	else if (type == G_TYPE_DOUBLE) {
		if (vips_image_get_double(image, name, &real))
			return -1;
		add_field(to, DOUBLE, name, &real, sizeof(real));
	}
	else if (type == VIPS_TYPE_REF_STRING || type == G_TYPE_STRING) {
		if (vips_image_get_string(image, name, &text))
			return -1;
		add_field(to, STRING, name, text, strlen(text) + 1);
	}
	else if (type == VIPS_TYPE_BLOB) {
		if (vips_image_get_blob(image, name, &blob, &length))
			return -1;
		add_field(to, BLOB, name, blob, length);
	}
	else if (type == VIPS_TYPE_ARRAY_INT) {
		if (vips_image_get_array_int(image, name, &array, &count))
			return -1;
		add_field(to, INTS, name, array, count * sizeof(int));
	}
	else {
		vips_error("spillway", "field %s is of an unknown kind", name);
		return -1;
	}
	return 0;
}

/* What Header has of the picture, and libvips lists as fields too. */
static int
is_header(const char *name)
{
	static const char *const names[] = { "width", "height", "bands", "format", "coding", "interpretation",
		"xoffset", "yoffset", "xres", "yres", "filename" };

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(name, names[i]) == 0)
			return 1;
	return 0;
}

static int
pack_fields(VipsImage *image, GByteArray *to)
{
	char **names = vips_image_get_fields(image);
	int result = 0;

	for (int i = 0; names[i] && !result; i++)
		if (!is_header(names[i]))
			result = pack_field(image, names[i], vips_image_get_typeof(image, names[i]), to);
	g_strfreev(names);
	return result;
}

static int
unpack_field(VipsImage *image, const FieldHeader *header, const char *name, const void *value)
{
	int whole;
	double real;

	switch (header->kind) {
	case INT:
		memcpy(&whole, value, sizeof(whole));
		vips_image_set_int(image, name, whole);
		return 0;
	case DOUBLE:
		memcpy(&real, value, sizeof(real));
		vips_image_set_double(image, name, real);
		return 0;
	case STRING:
		vips_image_set_string(image, name, value);
		return 0;
	case BLOB:
		vips_image_set_blob_copy(image, name, value, header->value);
		return 0;
	case INTS: {
		int *array = g_memdup2(value, header->value);

		vips_image_set_array_int(image, name, array, header->value / sizeof(int));
		g_free(array);
		return 0;
	}
	}
	vips_error("spillway", "a field of kind %u", header->kind);
	return -1;
}

/* libvips expands an EXIF block that is set into fields, also into those that
 * were removed from the picture that is sent.
 */
static void
drop_expanded(VipsImage *image)
{
	char **names = vips_image_get_fields(image);

	for (int i = 0; names[i]; i++)
		if (!is_header(names[i]) && strcmp(names[i], VIPS_META_EXIF_NAME) != 0)
			vips_image_remove(image, names[i]);
	g_strfreev(names);
}

typedef int (*Visit)(VipsImage *image, const FieldHeader *header, const char *name, const void *value);

static int
unpack_exif(VipsImage *image, const FieldHeader *header, const char *name, const void *value)
{
	if (strcmp(name, VIPS_META_EXIF_NAME) != 0)
		return 0;
	if (unpack_field(image, header, name, value))
		return -1;
	drop_expanded(image);
	return 0;
}

static int
unpack_others(VipsImage *image, const FieldHeader *header, const char *name, const void *value)
{
	return strcmp(name, VIPS_META_EXIF_NAME) == 0 ? 0 : unpack_field(image, header, name, value);
}

static int
each_field(VipsImage *image, const char *data, size_t length, Visit visit)
{
	while (length > 0) {
		FieldHeader header;
		size_t whole;

		if (length < sizeof(header))
			break;
		memcpy(&header, data, sizeof(header));
		whole = sizeof(header) + (size_t) header.name + header.value;
		if (length < whole ||
			visit(image, &header, data + sizeof(header), data + sizeof(header) + header.name))
			break;
		data += whole;
		length -= whole;
	}
	if (length > 0)
		vips_error("spillway", "fields are cut short");
	return length > 0 ? -1 : 0;
}

static int
unpack_fields(VipsImage *image, const char *data, size_t length)
{
	return each_field(image, data, length, unpack_exif) || each_field(image, data, length, unpack_others) ? -1 : 0;
}

/* Writing */

typedef struct {
	SpwJob *job;
	int file;
	off_t at;
} Writer;

static int
write_all(Writer *writer, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t written = pwrite(writer->file, data, length, writer->at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			vips_error_system(errno, "spillway", "cannot hold the pixels");
			return -1;
		}
		data += written;
		length -= written;
		writer->at += written;
	}
	return 0;
}

/* libvips calls it with full lines, from top to bottom. */
static int
write_lines(VipsRegion *region, VipsRect *area, void *user)
{
	Writer *writer = (Writer *) user;
	size_t line = VIPS_REGION_SIZEOF_LINE(region);

	if (spw_cancelled(writer->job)) {
		vips_error("spillway", "cancelled");
		return -1;
	}
	if (VIPS_REGION_LSKIP(region) == line)
		return write_all(writer, (const char *) VIPS_REGION_ADDR(region, 0, area->top), line * area->height);
	for (int y = area->top; y < area->top + area->height; y++)
		if (write_all(writer, (const char *) VIPS_REGION_ADDR(region, 0, y), line))
			return -1;
	return 0;
}

/* Memory with a descriptor and without a name. */
static int
open_memory(void)
{
#ifdef __linux__
	int file = memfd_create("spillway-pixels", MFD_CLOEXEC);
#else
	char *name = NULL;
	int file = g_file_open_tmp("spillway-XXXXXX", &name, NULL);

	if (file >= 0)
		unlink(name);
	g_free(name);
#endif
	if (file < 0)
		vips_error_system(errno, "spillway", "cannot make memory for the pixels");
	return file;
}

static Header
header_of(const SpwOutput *output, VipsImage *image, int frames, size_t fields)
{
	Header header = {
		.output = *output, .frames = frames, .width = image->Xsize, .height = image->Ysize,
		.bands = image->Bands, .format = image->BandFmt, .interpretation = image->Type,
		.xoffset = image->Xoffset, .yoffset = image->Yoffset, .xres = image->Xres, .yres = image->Yres,
		.fields = fields, .pixels = VIPS_IMAGE_SIZEOF_IMAGE(image),
	};

	/* The helper does it itself. */
	header.output.apart = header.output.apart_clear = 0;
	return header;
}

/* The descriptor of a parcel with all that image is, or -1. */
int
spw_pack(SpwJob *job, const SpwOutput *output, VipsImage *image, int frames)
{
	GByteArray *fields = g_byte_array_new();
	Writer writer = { job, open_memory(), 0 };
	int result = -1;

	if (writer.file >= 0 && !pack_fields(image, fields)) {
		Header header = header_of(output, image, frames, fields->len);

		result = write_all(&writer, (const char *) &header, sizeof(header)) ||
			write_all(&writer, (const char *) fields->data, fields->len);
		writer.at = pixels_offset(&header);
		result = result || vips_sink_disc(image, write_lines, &writer);
	}
	g_byte_array_free(fields, TRUE);
	if (result && writer.file >= 0)
		close(writer.file);
	return result ? -1 : writer.file;
}

/* Reading */

static int
is_whole(const Header *header, size_t length)
{
	if (length < sizeof(*header) || header->fields > length || header->pixels > length ||
		pixels_offset(header) + header->pixels > length)
		return 0;
	return header->frames > 0 && header->width > 0 && header->height > 0 && header->bands > 0 &&
		header->pixels == vips_format_sizeof(header->format) * header->bands * header->width *
			(uint64_t) header->height;
}

static VipsImage *
unpack(char *data, size_t length)
{
	const Header *header = (const Header *) data;
	VipsImage *image;

	if (!is_whole(header, length)) {
		vips_error("spillway", "the parcel is cut short");
		return NULL;
	}
	image = vips_image_new_from_memory(data + pixels_offset(header), header->pixels, header->width, header->height,
		header->bands, header->format);
	if (!image)
		return NULL;
	image->Type = header->interpretation;
	image->Xoffset = header->xoffset;
	image->Yoffset = header->yoffset;
	if (unpack_fields(image, data + sizeof(*header), header->fields)) {
		g_object_unref(image);
		return NULL;
	}
	/* An EXIF block sets them, too. */
	image->Xres = header->xres;
	image->Yres = header->yres;
	return image;
}

static int
save_mapped(SpwJob *job, char *data, size_t length)
{
	const Header *header = (const Header *) data;
	VipsImage *image = unpack(data, length);
	int stage;

	if (!image)
		return SPW_PROCESS;
	stage = spw_save(job, &header->output, image, header->frames);
	g_object_unref(image);
	return stage;
}

/* What spw_save does, for the picture of a parcel. */
int
spw_encode(SpwJob *job, int file)
{
	struct stat facts;
	char *data;
	int stage;

	if (fstat(file, &facts) || facts.st_size <= 0)
		return SPW_PROCESS;
	data = mmap(NULL, facts.st_size, PROT_READ, MAP_SHARED, file, 0);
	if (data == MAP_FAILED)
		return SPW_PROCESS;
	stage = save_mapped(job, data, facts.st_size);
	munmap(data, facts.st_size);
	return spw_conclude(job, stage);
}
