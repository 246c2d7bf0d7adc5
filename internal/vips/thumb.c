/* A small picture of a finished one, for placeholders. It is averaged here,
 * because building a pipeline for so few pixels takes longer than all the rest.
 */
#include "stages.h"

/* Where pixel i of count begins in a line of size pixels. */
static int
edge(int i, int count, int size)
{
	return (int) ((int64_t) i * size / count);
}

/* What a box of pixels adds up to: colours by opacity, and opacity. */
typedef struct {
	uint64_t colours[3];
	uint64_t opacity;
} Sum;

/* A line of pixels without alpha; so many that 32 bits hold their sum. */
static void
add_opaque(Sum *sum, const unsigned char *p, int pixels, int bands)
{
	uint32_t first = 0, second = 0, third = 0;

	if (bands == 1)
		for (int x = 0; x < pixels; x++)
			first += p[x];
	else
		for (int x = 0; x < pixels; x++, p += 3) {
			first += p[0];
			second += p[1];
			third += p[2];
		}
	sum->colours[0] += 255ull * first;
	sum->colours[1] += 255ull * second;
	sum->colours[2] += 255ull * third;
	sum->opacity += 255ull * pixels;
}

static void
add_clear(Sum *sum, const unsigned char *p, int pixels, int bands)
{
	for (int x = 0; x < pixels; x++, p += bands) {
		unsigned int alpha = p[bands - 1];

		for (int c = 0; c < bands - 1; c++)
			sum->colours[c] += alpha * p[c];
		sum->opacity += alpha;
	}
}

/* The mean of a box of 8-bit pixels by opacity, as RGBA. */
static void
average(const VipsImage *image, int left, int top, int right, int bottom, unsigned char *rgba)
{
	int bands = image->Bands, grey = bands < 3, clear = bands % 2 == 0;
	uint64_t count = (uint64_t) (right - left) * (bottom - top);
	Sum sum = { { 0 }, 0 };

	for (int y = top; y < bottom; y++) {
		const unsigned char *line = VIPS_IMAGE_ADDR(image, left, y);

		if (clear)
			add_clear(&sum, line, right - left, bands);
		else
			add_opaque(&sum, line, right - left, bands);
	}
	for (int c = 0; c < 3; c++)
		rgba[c] = sum.opacity ? (sum.colours[grey ? 0 : c] + sum.opacity / 2) / sum.opacity : 0;
	rgba[3] = (sum.opacity + count / 2) / count;
}

static void
shrink(const VipsImage *image, int high, int width, int height, unsigned char *rows)
{
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			average(image, edge(x, width, image->Xsize), edge(y, height, high),
				edge(x + 1, width, image->Xsize), edge(y + 1, height, high), rows + 4 * (y * width + x));
}

static int
side(int pixels, double factor)
{
	return VIPS_MAX(1, (int) (pixels * factor + 0.5));
}

/* image is in memory, 8-bit grey or sRGB with or without alpha. Of an
 * animation, which is a strip of its frames, the first counts.
 */
int
spw_save_thumb(SpwJob *job, const SpwOutput *output, VipsImage *image, int frames)
{
	int high = image->Ysize / frames;
	double factor = VIPS_MIN(1, (double) output->thumb_side / VIPS_MAX(image->Xsize, high));
	int width = side(image->Xsize, factor), height = side(high, factor);
	size_t length = (size_t) 4 * width * height;
	unsigned char *rows = g_malloc(length);
	int refused;

	shrink(image, high, width, height, rows);
	refused = spw_cancelled(job) || spillwayBegin(job->handle, output->thumb, width, height, 1, 100) ||
		spillwayWrite(job->handle, rows, (long long) length) != (long long) length;
	g_free(rows);
	return refused ? SPW_SINK : SPW_OK;
}
