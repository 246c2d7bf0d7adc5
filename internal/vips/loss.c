/* What a picture says of the quality it needs, before it is encoded.
 *
 * An encoder of a given quality removes what is weaker than some level from
 * every part of a picture, and no more than that from what is stronger
 * (reverse water-filling: Berger 1971, Rate Distortion Theory, section 4.5). A
 * window of variance v that loses min(v, level) keeps a similarity that
 * follows from the definition of SSIM; so the variances of a picture tell its
 * likeness at every level, and which level a likeness needs.
 *
 * Which quality removes how much is a habit of each encoder, measured on
 * photographs. Pictures differ from it by a number of their own, which one
 * encode tells; the second then is near the mark.
 */
#include <math.h>

#include "likeness.h"

#define WINDOW 8
#define C2 (0.03 * 255 * 0.03 * 255)

/* Bins of a quarter of an octave, from 2^-3 on. */
#define PER_OCTAVE 4
#define LOWEST (-3)

static int
bin_of(double variance)
{
	double place = (log2(VIPS_MAX(variance, 1e-9)) - LOWEST) * PER_OCTAVE;

	return VIPS_CLIP(0, (int) place, SPW_BINS - 1);
}

static double
window_variance(const uint8_t *at, int stride)
{
	uint32_t sum = 0, squares = 0;

	for (int y = 0; y < WINDOW; y++)
		for (int x = 0; x < WINDOW; x++) {
			uint32_t level = at[y * stride + x];

			sum += level;
			squares += level * level;
		}
	return (squares - (double) sum * sum / (WINDOW * WINDOW)) / (WINDOW * WINDOW);
}

void
spw_find_detail(const Luma *luma, Detail *detail)
{
	*detail = (Detail){ { 0 }, 0 };
	for (int y = 0; y + WINDOW <= luma->height; y += WINDOW)
		for (int x = 0; x + WINDOW <= luma->width; x += WINDOW) {
			const uint8_t *at = luma->on_white + (size_t) y * luma->width + x;

			detail->windows[bin_of(window_variance(at, luma->width))]++;
			detail->count++;
		}
}

/* The likeness that is left when a level, given by its logarithm, is gone. */
static double
likeness_at(const Detail *detail, double level)
{
	double sum = 0;

	for (int i = 0; i < SPW_BINS; i++) {
		double v = exp2(LOWEST + (i + 0.5) / PER_OCTAVE), lost = VIPS_MIN(v, exp(level));

		sum += detail->windows[i] * (2 * (v - lost) + C2) / (2 * v - lost + C2);
	}
	return sum / VIPS_MAX(detail->count, 1);
}

/* Levels that any quality has. */
#define WEAKEST (-4.0)
#define STRONGEST 8.0

double
spw_level_for(const Detail *detail, double likeness)
{
	double low = WEAKEST, high = STRONGEST;

	for (int i = 0; i < 24; i++) {
		double middle = (low + high) / 2;

		if (likeness_at(detail, middle) > likeness)
			low = middle;
		else
			high = middle;
	}
	return low;
}

#define POINTS 15

/* The logarithm of the level that is lost at a quality: the median over 18
 * photographs of 250 to 900 pixels, and how far they spread about it.
 */
typedef struct {
	double level[POINTS], spread[POINTS];
} Habit;

static const double qualities[POINTS] = { 1, 4, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 95, 98, 100 };

static const Habit habits[SPW_FORMATS] = {
	[SPW_JPEG] = {
		{ 6.36, 5.57, 4.28, 3.52, 3.17, 2.95, 2.55, 2.30, 2.03, 1.68, 1.44, 0.97, 0.17, -0.82, -1.78 },
		{ 0.51, 0.55, 0.59, 0.70, 0.74, 0.75, 0.76, 0.76, 0.76, 0.73, 0.70, 0.63, 0.44, 0.27, 0.25 },
	},
	[SPW_WEBP] = {
		{ 4.50, 4.22, 3.93, 3.33, 2.88, 2.66, 2.46, 2.23, 2.07, 1.65, 1.29, 0.67, 0.01, -0.40, -0.56 },
		{ 0.54, 0.54, 0.53, 0.53, 0.51, 0.48, 0.47, 0.46, 0.45, 0.39, 0.34, 0.27, 0.20, 0.17, 0.18 },
	},
	[SPW_AVIF] = {
		{ 5.60, 5.26, 4.92, 4.31, 3.79, 3.09, 2.42, 1.94, 1.49, 0.96, 0.28, -0.14, -0.67, -1.26, -2.65 },
		{ 0.59, 0.59, 0.60, 0.61, 0.59, 0.54, 0.49, 0.42, 0.37, 0.31, 0.27, 0.22, 0.16, 0.12, 0.40 },
	},
	[SPW_JXL] = {
		{ 4.44, 4.42, 4.06, 3.44, 3.31, 3.19, 2.83, 2.71, 2.30, 1.89, 1.57, 1.12, 0.34, -0.62, -2.22 },
		{ 0.70, 0.70, 0.64, 0.67, 0.67, 0.67, 0.65, 0.62, 0.60, 0.57, 0.54, 0.50, 0.38, 0.30, 0.31 },
	},
};

static int
segment_of(double quality)
{
	int i = 0;

	while (i < POINTS - 2 && qualities[i + 1] < quality)
		i++;
	return i;
}

static double
between(const double *values, int i, double quality)
{
	double share = (quality - qualities[i]) / (qualities[i + 1] - qualities[i]);

	return values[i] + (values[i + 1] - values[i]) * share;
}

/* How many spreads a picture is off, that loses so much at a quality. */
double
spw_bias(int format, int quality, double level)
{
	const Habit *habit = &habits[format];
	int i = segment_of(quality);

	return (level - between(habit->level, i, quality)) / between(habit->spread, i, quality);
}

/* The level that is lost at a quality by a picture that is so far off. */
double
spw_level_lost(int format, int quality, double bias)
{
	const Habit *habit = &habits[format];
	int i = segment_of(quality);

	return between(habit->level, i, quality) + bias * between(habit->spread, i, quality);
}
