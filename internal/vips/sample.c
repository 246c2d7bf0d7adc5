/* What a quality is searched on: all of a picture, or tiles spread over it and
 * set beside each other.
 *
 * A JPEG takes as long to decode as to encode, so its quality is searched on
 * tiles; their blocks are encoded as those of the picture. Other formats look
 * around while they encode, and take several times what they do to decode.
 */
#include <math.h>
#include <string.h>

#include "likeness.h"

/* A multiple of JPEG's blocks, which are 16 pixels wide with half the chroma. */
#define SIDE 32

#define MOST 384

void
spw_free_sample(Sample *sample)
{
	VIPS_UNREF(sample->image);
	g_free(sample->pixels);
	spw_free_luma(&sample->luma);
}

/* Steps of the plastic number spread points evenly and without a pattern
 * (Roberts 2018, "The unreasonable effectiveness of quasirandom sequences");
 * a tile that was taken is passed over. All calls give the same tiles.
 */
static int
choose_tiles(int across, int down, int wanted, int *tiles)
{
	unsigned char *taken = g_malloc0((size_t) across * down);
	int count = 0;

	for (int i = 0; count < wanted && i < 8 * wanted; i++) {
		double x = fmod(0.5 + i * 0.7548776662466927, 1), y = fmod(0.5 + i * 0.5698402909980532, 1);
		int tile = (int) (y * down) * across + (int) (x * across);

		if (!taken[tile])
			tiles[count++] = tile;
		taken[tile] = 1;
	}
	g_free(taken);
	return count;
}

static int
copy_tile(VipsRegion *region, const VipsRect *area, unsigned char *to, size_t line)
{
	size_t bytes = area->width * VIPS_IMAGE_SIZEOF_PEL(region->im);

	if (vips_region_prepare(region, area))
		return -1;
	for (int row = 0; row < area->height; row++)
		memcpy(to + row * line, VIPS_REGION_ADDR(region, area->left, area->top + row), bytes);
	return 0;
}

/* Set the tiles beside each other, in rows. */
static int
lay_tiles(VipsImage *image, const int *tiles, Sample *sample)
{
	size_t pel = VIPS_IMAGE_SIZEOF_PEL(image), line = (size_t) sample->across * SIDE * pel;
	int across = image->Xsize / SIDE, result = 0;
	VipsRegion *region = vips_region_new(image);

	sample->pixels = g_malloc(line * SIDE * sample->down);
	for (int i = 0; i < sample->across * sample->down && !result; i++) {
		VipsRect area = { tiles[i] % across * SIDE, tiles[i] / across * SIDE, SIDE, SIDE };
		int x = i % sample->across, y = i / sample->across;

		result = copy_tile(region, &area, sample->pixels + (size_t) y * SIDE * line + x * SIDE * pel, line);
	}
	g_object_unref(region);
	return result;
}

static int
as_image(const void *pixels, int width, int height, int bands, VipsInterpretation space, VipsImage **out)
{
	VipsImage *raw = vips_image_new_from_memory(pixels, (size_t) width * height * bands, width, height, bands,
		VIPS_FORMAT_UCHAR);
	int result;

	if (!raw)
		return -1;
	result = vips_copy(raw, out, "interpretation", space, NULL);
	g_object_unref(raw);
	return result;
}

static int
take_tiles(VipsImage *image, int wanted, Sample *sample)
{
	int tiles[MOST], count = choose_tiles(image->Xsize / SIDE, image->Ysize / SIDE, wanted, tiles);

	sample->side = SIDE;
	sample->across = (int) sqrt(count);
	sample->down = count / sample->across;
	if (lay_tiles(image, tiles, sample))
		return -1;
	return as_image(sample->pixels, sample->across * SIDE, sample->down * SIDE, image->Bands, image->Type,
		&sample->image);
}

int
spw_whole(VipsImage *image, Sample *sample)
{
	*sample = (Sample){ .image = image };
	g_object_ref(image);
	return spw_luma(image, &sample->luma);
}

/* A share of the tiles, but so many that their mean says something; all of the
 * picture where that would be most of it.
 */
int
spw_sample(VipsImage *image, double share, int fewest, Sample *sample)
{
	int tiles = image->Xsize / SIDE * (image->Ysize / SIDE);
	int wanted = VIPS_CLIP(fewest, (int) (share * tiles), MOST);

	if (tiles < 2 * wanted)
		return spw_whole(image, sample);
	*sample = (Sample){ 0 };
	return take_tiles(image, wanted, sample) || spw_luma(sample->image, &sample->luma) ? -1 : 0;
}

/* Mean over the tiles: a window that reaches over a seam is of no picture. */
static double
likeness_on(SpwJob *job, const uint8_t *a, const uint8_t *b, const Sample *sample)
{
	int width = sample->luma.width;
	double sum = 0;

	if (!sample->side)
		return spw_ssim(job, a, b, width, width, sample->luma.height);
	for (int y = 0; y < sample->down; y++)
		for (int x = 0; x < sample->across; x++) {
			size_t at = (size_t) y * SIDE * width + (size_t) x * SIDE;

			sum += spw_ssim(job, a + at, b + at, width, SIDE, SIDE);
		}
	return sum / (sample->across * sample->down);
}

/* With alpha, on the ground on which they are less alike: white on nothing is
 * not seen on white.
 */
static int
compare(SpwJob *job, VipsImage *image, const Sample *with, double *ssim)
{
	Luma luma;

	if (image->Xsize != with->luma.width || image->Ysize != with->luma.height) {
		vips_error("spillway", "an encoded picture has another size");
		return -1;
	}
	if (spw_luma(image, &luma))
		return -1;
	*ssim = likeness_on(job, luma.on_white, with->luma.on_white, with);
	if (with->luma.on_black) {
		/* A decoder that finds all of it opaque gives no alpha. */
		const uint8_t *on_black = luma.on_black ? luma.on_black : luma.on_white;

		*ssim = VIPS_MIN(*ssim, likeness_on(job, on_black, with->luma.on_black, with));
	}
	spw_free_luma(&luma);
	return spw_cancelled(job) ? -1 : 0;
}

/* How like an encoded picture is to what it was made of. */
int
spw_measure(SpwJob *job, int format, const SpwEncoded *encoded, const Sample *with, double *ssim)
{
	VipsImage *image;
	int result;

	if (spw_cancelled(job) || spw_load_own(job, format, encoded, &image))
		return -1;
	result = spw_to_8bit(&image) || compare(job, image, with, ssim);
	g_object_unref(image);
	return result ? -1 : 0;
}
