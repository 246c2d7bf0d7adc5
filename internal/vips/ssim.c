/* How like two pictures are: the mean structural similarity of their luma over
 * windows of 8 x 8, every 4 pixels (Wang et al. 2004, K1 0.01, K2 0.03).
 *
 * Sums are taken over blocks of 4 x 4 and four of them make a window, so each
 * pixel is read once.
 */
#include <string.h>

#include "likeness.h"

/* The loops over columns are written to be done several columns at a time. */
#pragma GCC optimize("O3")

#define BLOCK 4

typedef struct {
	uint32_t a, b, squares, products;
} Sums;

/* The similarity of a window of n pixels, times n * n above and below. */
static double
of_window(double a, double b, double squares, double products, double n)
{
	const double c1 = 0.01 * 255 * 0.01 * 255 * n * n, c2 = 0.03 * 255 * 0.03 * 255 * n * n;
	double means = a * a + b * b;

	return (2 * a * b + c1) * (2 * (products * n - a * b) + c2) / ((means + c1) * (squares * n - means + c2));
}

/* One row of blocks; columns has room for as many as the picture has. */
static void
sum_blocks(const uint8_t *a, const uint8_t *b, int stride, int blocks, Sums *columns, Sums *sums)
{
	int width = blocks * BLOCK;

	for (int x = 0; x < width; x++) {
		uint32_t sum_a = 0, sum_b = 0, squares = 0, products = 0;

		for (int y = 0; y < BLOCK; y++) {
			uint32_t p = a[y * stride + x], q = b[y * stride + x];

			sum_a += p;
			sum_b += q;
			squares += p * p + q * q;
			products += p * q;
		}
		columns[x] = (Sums){ sum_a, sum_b, squares, products };
	}
	for (int i = 0; i < blocks; i++) {
		Sums sum = { 0 };

		for (int x = i * BLOCK; x < (i + 1) * BLOCK; x++) {
			sum.a += columns[x].a;
			sum.b += columns[x].b;
			sum.squares += columns[x].squares;
			sum.products += columns[x].products;
		}
		sums[i] = sum;
	}
}

static double
row_of_windows(const Sums *above, const Sums *below, int blocks)
{
	double sum = 0;

	for (int i = 0; i + 1 < blocks; i++) {
		const Sums *p = &above[i], *q = &below[i];

		sum += of_window((double) p[0].a + p[1].a + q[0].a + q[1].a,
			(double) p[0].b + p[1].b + q[0].b + q[1].b,
			(double) p[0].squares + p[1].squares + q[0].squares + q[1].squares,
			(double) p[0].products + p[1].products + q[0].products + q[1].products, 64);
	}
	return sum;
}

/* What is smaller than a window is one. */
static double
as_one_window(const uint8_t *a, const uint8_t *b, int stride, int width, int height)
{
	double sum_a = 0, sum_b = 0, squares = 0, products = 0;

	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++) {
			double p = a[y * stride + x], q = b[y * stride + x];

			sum_a += p;
			sum_b += q;
			squares += p * p + q * q;
			products += p * q;
		}
	return of_window(sum_a, sum_b, squares, products, (double) width * height);
}

double
spw_ssim(SpwJob *job, const uint8_t *a, const uint8_t *b, int stride, int width, int height)
{
	int blocks = width / BLOCK, rows = height / BLOCK;
	Sums *columns, *above, *below;
	double sum = 0;

	if (blocks < 2 || rows < 2)
		return as_one_window(a, b, stride, width, height);
	columns = g_new(Sums, (size_t) blocks * (BLOCK + 2));
	above = columns + (size_t) blocks * BLOCK;
	below = above + blocks;
	for (int row = 0; row < rows && !spw_cancelled(job); row++) {
		size_t offset = (size_t) row * BLOCK * stride;
		Sums *next = above;

		sum_blocks(a + offset, b + offset, stride, blocks, columns, below);
		if (row > 0)
			sum += row_of_windows(above, below, blocks);
		above = below;
		below = next;
	}
	g_free(columns);
	return sum / ((double) (blocks - 1) * (rows - 1));
}

/* Luma as JPEG has it (ITU-R BT.601), of 8-bit sRGB or grey. */
static void
luma_row(const VipsPel *in, uint8_t *out, int width, int bands)
{
	if (bands < 3)
		for (int x = 0; x < width; x++)
			out[x] = in[x * bands];
	else
		for (int x = 0; x < width; x++, in += bands)
			out[x] = (uint8_t) ((19595 * in[0] + 38470 * in[1] + 7471 * in[2] + 32768) >> 16);
}

/* Over what the row holds, as a viewer sees it on a ground of that level. */
static void
lay_row(const VipsPel *in, uint8_t *out, int width, int bands, int ground)
{
	for (int x = 0; x < width; x++) {
		unsigned int alpha = in[x * bands + bands - 1];

		out[x] = (uint8_t) ((out[x] * alpha + ground * (255 - alpha) + 127) / 255);
	}
}

static void
luma_rows(VipsRegion *region, const VipsRect *area, Luma *luma)
{
	int bands = region->im->Bands;

	for (int y = area->top; y < VIPS_RECT_BOTTOM(area); y++) {
		const VipsPel *in = VIPS_REGION_ADDR(region, 0, y);
		size_t at = (size_t) y * luma->width;

		luma_row(in, luma->on_white + at, luma->width, bands);
		if (luma->on_black) {
			memcpy(luma->on_black + at, luma->on_white + at, luma->width);
			lay_row(in, luma->on_white + at, luma->width, bands, 255);
			lay_row(in, luma->on_black + at, luma->width, bands, 0);
		}
	}
}

#define STRIP 64

/* Read from top to bottom, so that a picture need not be decoded as a whole. */
static int
fill(VipsImage *image, Luma *luma)
{
	VipsRegion *region = vips_region_new(image);
	VipsRect area = { 0, 0, luma->width, STRIP };
	int result = 0;

	for (; area.top < luma->height && !result; area.top += STRIP) {
		area.height = VIPS_MIN(STRIP, luma->height - area.top);
		result = vips_region_prepare(region, &area);
		if (!result)
			luma_rows(region, &area, luma);
	}
	g_object_unref(region);
	return result;
}

/* Of 8-bit sRGB or grey. */
int
spw_luma(VipsImage *image, Luma *luma)
{
	size_t pixels = (size_t) image->Xsize * image->Ysize;
	int alpha = vips_image_hasalpha(image);

	*luma = (Luma){ g_try_malloc(pixels), alpha ? g_try_malloc(pixels) : NULL, image->Xsize, image->Ysize };
	if (luma->on_white && (luma->on_black || !alpha) && !fill(image, luma))
		return 0;
	spw_free_luma(luma);
	return -1;
}

void
spw_free_luma(Luma *luma)
{
	g_free(luma->on_white);
	g_free(luma->on_black);
	luma->on_white = luma->on_black = NULL;
}
