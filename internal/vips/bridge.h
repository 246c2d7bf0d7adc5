/* The whole surface between Go and C. One call runs one plan; the only ways
 * back are the spillway* callbacks at the end, which Go exports.
 */
#ifndef SPILLWAY_BRIDGE_H
#define SPILLWAY_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

/* Formats. The numbers are private to this package. */
enum {
	SPW_UNKNOWN,
	SPW_JPEG,
	SPW_PNG,
	SPW_WEBP,
	SPW_GIF,
	SPW_TIFF,
	SPW_HEIF,
	SPW_AVIF,
	SPW_SVG,
	SPW_JXL,
	SPW_JP2,
	SPW_PDF,
	SPW_RAW, /* rows of 8-bit RGBA, decoded or to be used elsewhere */
	SPW_FORMATS
};

/* Where a run stopped. */
enum {
	SPW_OK,
	SPW_DECODE,	/* the source does not decode */
	SPW_MARK,	/* the watermark does not decode */
	SPW_PROCESS,	/* a step failed on decoded pixels: our fault */
	SPW_ENCODE,	/* the encoder failed on finished pixels: our fault */
	SPW_UNWRITABLE, /* no such encoder, or the picture does not fit it */
	SPW_SINK,	/* begin or the writer said no */
	SPW_LAYOUT,	/* the trimmed size cannot be laid out */
	SPW_PIXELS,	/* this page has too many */
	SPW_TOO_LARGE,	/* no quality is small enough */
	SPW_CANCELLED
};

/* Smart crops. */
enum { SPW_PLACED, SPW_ATTENTION, SPW_ENTROPY };

/* Metadata kept, as bits. */
enum {
	SPW_KEEP_EXIF = 1,
	SPW_KEEP_XMP = 2,
	SPW_KEEP_IPTC = 4,
	SPW_KEEP_ICC = 8,
	SPW_KEEP_COPYRIGHT = 16
};

typedef struct {
	int x, y, width, height;
} SpwRect;

/* In shares of the picture, 0 to 1. */
typedef struct {
	double x, y, width, height;
} SpwArea;

typedef struct {
	int format;
	int page, frames;
	int shrink;
	double scale;
	int whole; /* the decoder takes all of it before the first line */
	int width, height; /* of SPW_RAW */
} SpwLoad;

typedef struct {
	int width, height;
	SpwRect crop; /* width 0: none */
	int smart;
	SpwRect canvas; /* width 0: none */
} SpwLayout;

typedef struct {
	int index; /* the plan's */
	int thumb; /* its index of the small picture that is made of this one ... */
	int thumb_side; /* ... and the longest side of that; 0: there is none */
	SpwLayout layout;
	int format;
	int quality;
	int64_t max_bytes;
	double ssim; /* 0: the quality is what was asked for */
	int lossless;
	int effort;
	int progressive;
	int keep;
	/* Pixels of a frame from which on the encoder runs in a helper process,
	 * without alpha and with; 0: never.
	 */
	int64_t apart, apart_clear;
} SpwOutput;

typedef struct {
	SpwLoad load;
	double opacity;
	double scale;
	int turns, mirror;
	int horizontal, vertical; /* -1, 0 or 1 from the middle */
	int x, y;
} SpwOverlay;

typedef struct {
	/* Set by Go at any time, read by every stage. */
	int32_t cancelled;

	uintptr_t handle; /* the run, for the callbacks */
	SpwLoad load;
	SpwArea crop; /* of the stored picture; width 0: none */
	int turns;    /* quarter turns clockwise ... */
	int mirror;   /* ... then left to right */
	double trim;
	double blur;
	double sharpen;
	int grayscale;
	int linear; /* every resize, of frames that are sRGB by then */
	int has_background;
	double background[4];
	int animated;
	int plays;
	int later_page; /* whose size is not known before it is loaded */
	int64_t max_pixels;
	int has_overlay;
	SpwOverlay overlay;

	/* Set by the run. */
	int32_t decode_failed;
	char message[512];
} SpwJob;

typedef struct {
	int width, height;
	int orientation;
	int pages;
	int bands;
	int alpha;
	int bits;
	int space;
	int profile;
	int interlaced;
	int loop;
	int delays;
} SpwInfo;

/* Colour spaces of SpwInfo. */
enum { SPW_SPACE_UNKNOWN, SPW_SPACE_SRGB, SPW_SPACE_GRAY, SPW_SPACE_CMYK, SPW_SPACE_LAB };

typedef struct {
	int64_t memory, allocations, files, warnings;
} SpwStats;

int spw_start(int concurrency);
void spw_allow_pdf(void);
void spw_stats(SpwStats *stats);
void spw_trim_memory(void);
const char *spw_version(void);
int spw_has_loader(int format);
int spw_has_saver(int format);
void spw_thread_done(void);
int spw_threads_are_safe(void);

int spw_probe(SpwJob *job, const void *src, size_t length, SpwInfo *info, int *delays, int max_delays);
int spw_run(SpwJob *job, const void *src, size_t length, const void *overlay, size_t overlay_length, const int *delays,
	SpwOutput *outputs, int count);
int spw_encode(SpwJob *job, int file);
int spw_describe(SpwJob *job, const void *src, size_t length, int side, void **pixels, int *width, int *height);
void spw_free(void *pointer);

/* Exported by Go. They may come from a thread of libvips. */
extern int spillwayBegin(uintptr_t handle, int index, int width, int height, int frames, int quality);
extern long long spillwayWrite(uintptr_t handle, void *data, long long length);
extern int spillwayEncode(uintptr_t handle, int index, int width, int height, int frames, int file, char *message,
	int length);
extern int spillwayLayOut(uintptr_t handle, int index, int width, int height, SpwLayout *layout);

#endif
