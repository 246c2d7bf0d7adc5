/* What the search for a quality by likeness consists of: ssim.c measures,
 * sample.c cuts what is searched on, loss.c guesses, likeness.c decides.
 */
#ifndef SPILLWAY_LIKENESS_H
#define SPILLWAY_LIKENESS_H

#include "stages.h"

/* Luma of a picture on white, and on black where it has alpha, else NULL. */
typedef struct {
	uint8_t *on_white, *on_black;
	int width, height;
} Luma;

int spw_luma(VipsImage *image, Luma *luma);
void spw_free_luma(Luma *luma);
double spw_ssim(SpwJob *job, const uint8_t *a, const uint8_t *b, int stride, int width, int height);

/* Tiles of a picture beside each other, or all of it. */
typedef struct {
	VipsImage *image;
	unsigned char *pixels; /* of image, where they are its own */
	Luma luma;
	int side; /* of a tile; 0 when this is the whole picture */
	int across, down;
} Sample;

int spw_sample(VipsImage *image, double share, int fewest, Sample *sample);
int spw_whole(VipsImage *image, Sample *sample);
void spw_free_sample(Sample *sample);
int spw_measure(SpwJob *job, int format, const SpwEncoded *encoded, const Sample *with, double *ssim);

#define SPW_BINS 72

/* How many windows of a picture have which variance. */
typedef struct {
	double windows[SPW_BINS];
	double count;
} Detail;

void spw_find_detail(const Luma *luma, Detail *detail);
double spw_level_for(const Detail *detail, double likeness);
double spw_bias(int format, int quality, double level);
double spw_level_lost(int format, int quality, double bias);

#endif
