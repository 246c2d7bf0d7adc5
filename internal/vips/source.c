/* Input of decoders that work through the whole file before they give a line:
 * progressive JPEG and interlaced PNG. They cannot be stopped by the pixels
 * they are asked for, but by the bytes they ask for.
 */
#include <string.h>

#include "stages.h"

typedef struct {
	SpwJob *job;
	const char *data;
	gint64 length, at;
} Reader;

static gint64
on_read(VipsSourceCustom *source, void *buffer, gint64 length, void *user)
{
	Reader *reader = (Reader *) user;
	gint64 count = VIPS_MIN(length, reader->length - reader->at);

	if (spw_cancelled(reader->job))
		return -1;
	memcpy(buffer, reader->data + reader->at, (size_t) count);
	reader->at += count;
	return count;
}

static gint64
on_seek(VipsSourceCustom *source, gint64 offset, int whence, void *user)
{
	Reader *reader = (Reader *) user;
	gint64 from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? reader->at : reader->length;

	if (from + offset < 0 || from + offset > reader->length)
		return -1;
	reader->at = from + offset;
	return reader->at;
}

VipsSource *
spw_stoppable_source(SpwJob *job, const void *data, size_t length)
{
	VipsSourceCustom *custom = vips_source_custom_new();
	Reader *reader = VIPS_NEW(custom, Reader);

	*reader = (Reader){ job, data, (gint64) length, 0 };
	g_signal_connect(custom, "read", G_CALLBACK(on_read), reader);
	g_signal_connect(custom, "seek", G_CALLBACK(on_seek), reader);
	return VIPS_SOURCE(custom);
}
