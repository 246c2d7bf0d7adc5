/* The quality at which a result, once it is decoded, is as like the finished
 * picture as was asked for: from what the picture says itself (loss.c), what
 * comes of a few tiles of it, of the whole, and of another encode by that.
 */
#include <math.h>
#include <stdlib.h>

#include "likeness.h"

/* A result so little below or above is taken as it is. */
#define BELOW 0.001
#define ABOVE 0.0018

/* One that is no further below is raised without another look at what comes
 * of it.
 */
#define FAR 0.005

/* Two looks, each an encode of the whole picture, are meant to do, and more
 * are only taken while all have been off by more than POOR.
 */
#define MOST_LOOKS 5
#define MEANT_LOOKS 2
#define POOR 0.007

/* What is tasted of a picture before it is encoded as a whole, and what stands
 * for all of it where it is to be a JPEG: a share of its tiles, and the fewest.
 */
#define TASTE 0.05, 12
#define MOST_OF_IT 0.2, 96

/* One so far off after two looks is of a picture that nothing is known of. */
#define LOST 0.02

typedef struct {
	SpwEncoded encoded;
	double ssim;
} Trial;

/* bias is how far the picture is off the habit of its encoder there. */
typedef struct {
	int quality;
	double bias;
} Look;

typedef struct {
	SpwJob *job;
	const SpwOutput *output;
	const Sample *sample;
	Detail detail;
	double level; /* that may be lost */
	/* The highest quality that fell short and the lowest above it that did
	 * not; at the lowest qualities likeness need not grow from step to step.
	 */
	Look below, above;
	int looks;
	Trial best;
} Search;

static void
drop(Trial *trial)
{
	g_free(trial->encoded.data);
	trial->encoded.data = NULL;
}

/* A little below what was asked is worse than a little above. */
static double
fault(const Search *search, const Trial *trial)
{
	double over = trial->ssim - search->output->ssim;

	return over < 0 ? -2 * over : over;
}

/* Encode, decode, compare; and keep it if it is the best so far. */
static int
look(Search *search, int quality, double *ssim)
{
	Trial trial = { { NULL, 0, 0 }, 0 };
	int result = spw_cancelled(search->job) ||
		spw_try_quality(search->job, search->sample->image, search->output, quality, &trial.encoded) ||
		spw_measure(search->job, search->output->format, &trial.encoded, search->sample, &trial.ssim);

	*ssim = trial.ssim;
	if (!result && (!search->best.encoded.data || fault(search, &trial) < fault(search, &search->best))) {
		Trial worse = search->best;

		search->best = trial;
		trial = worse;
	}
	drop(&trial);
	return result ? -1 : 0;
}

static void
narrow(Search *search, int quality, double ssim)
{
	Look look = { quality,
		spw_bias(search->output->format, quality, spw_level_for(&search->detail, ssim)) };

	if (ssim < search->output->ssim)
		search->below = look;
	else
		search->above = look;
}

/* Between two looks what is known of the picture goes over from one to the
 * other.
 */
static double
bias_at(const Search *search, int quality)
{
	const Look *below = &search->below, *above = &search->above;

	if (below->quality < 1 || above->quality > 100)
		return below->quality < 1 ? above->bias : below->bias;
	return below->bias + (above->bias - below->bias) * (quality - below->quality) /
		(above->quality - below->quality);
}

/* The quality between the ends that is expected to lose what may be lost; 0
 * when there is none left.
 */
static int
next_quality(const Search *search)
{
	int format = search->output->format, next = 0;
	double least = G_MAXDOUBLE;

	for (int quality = search->below.quality + 1; quality < search->above.quality; quality++) {
		double off = fabs(spw_level_lost(format, quality, bias_at(search, quality)) - search->level);

		if (off < least) {
			least = off;
			next = quality;
		}
	}
	return next;
}

/* Flat drawings are like no photograph, and their likeness jumps: where one end
 * is not in sight after a few looks, half of what is left is passed over.
 */
static int
step_out(const Search *search, int next, double ssim)
{
	if (!next || search->looks < MEANT_LOOKS || fabs(ssim - search->output->ssim) < LOST)
		return next;
	if (search->above.quality > 100)
		return VIPS_MAX(next, (search->below.quality + 101) / 2);
	if (search->below.quality < 1)
		return VIPS_MIN(next, (search->above.quality + 1) / 2);
	return next;
}

/* Whether a step up from just below may be made in the dark. */
static int
trusted(const Search *search, int quality, int next, double ssim)
{
	double miss = search->output->ssim - ssim;

	return next > quality && miss > 0 && miss < FAR;
}

/* The looks for a JPEG are not its last encode, and cheap. */
static int
enough(const Search *search)
{
	int cheap = search->output->format == SPW_JPEG;

	if (cheap || fault(search, &search->best) > POOR)
		return search->looks >= MOST_LOOKS;
	return search->looks >= MEANT_LOOKS;
}

static int
find(Search *search)
{
	int next = next_quality(search);
	double ssim;

	while (next && !enough(search)) {
		int quality = next;

		if (look(search, quality, &ssim))
			return -1;
		search->looks++;
		if (ssim > search->output->ssim - BELOW && ssim < search->output->ssim + ABOVE)
			return 0;
		narrow(search, quality, ssim);
		next = step_out(search, next_quality(search), ssim);
		if (next && search->output->format != SPW_JPEG && trusted(search, quality, next, ssim)) {
			drop(&search->best);
			search->best.encoded.quality = next;
			return 0;
		}
	}
	return 0;
}

/* The same pixels, as cheap as they can be had. */
static SpwOutput
plain(const SpwOutput *output)
{
	SpwOutput plain = *output;

	plain.keep = 0;
	if (output->format == SPW_JPEG)
		plain.effort = plain.progressive = 0;
	return plain;
}

static void
begin(Search *search, SpwJob *job, const SpwOutput *output, const Sample *sample, double bias)
{
	*search = (Search){ .job = job, .output = output, .sample = sample, .above = { 101, bias } };
	spw_find_detail(&sample->luma, &search->detail);
	search->level = spw_level_for(&search->detail, output->ssim);
}

/* How far the picture is off the habit of its encoder, by two looks at a few
 * tiles. 0 where the picture is hardly larger than those.
 */
static int
taste(SpwJob *job, VipsImage *image, const SpwOutput *output, double *bias)
{
	Sample tiles;
	Search search;
	int result = spw_sample(image, TASTE, &tiles), next = 0;
	double ssim;

	*bias = 0;
	if (!result && tiles.side) {
		begin(&search, job, output, &tiles, 0);
		for (int i = 0; i < 2 && !result && (next = next_quality(&search)); i++) {
			result = look(&search, next, &ssim);
			*bias = result ? 0 : spw_bias(output->format, next, spw_level_for(&search.detail, ssim));
			narrow(&search, next, ssim);
		}
		drop(&search.best);
	}
	spw_free_sample(&tiles);
	return result;
}

static int
find_on(SpwJob *job, VipsImage *image, const SpwOutput *output, Trial *best)
{
	SpwOutput cheap = plain(output);
	Search search = { .job = job };
	Sample sample = { 0 };
	double bias;
	int result = taste(job, image, &cheap, &bias);

	if (!result)
		result = output->format == SPW_JPEG ? spw_sample(image, MOST_OF_IT, &sample) : spw_whole(image, &sample);
	if (!result) {
		begin(&search, job, &cheap, &sample, bias);
		result = find(&search);
	}
	*best = search.best;
	spw_free_sample(&sample);
	return result;
}

/* An animation is as its first frame. found has no bytes where they are still
 * to be made.
 */
int
spw_find_likeness(SpwJob *job, VipsImage *image, const SpwOutput *output, int frames, SpwEncoded *found)
{
	Trial best;
	VipsImage *first;
	int result;

	if (vips_extract_area(image, &first, 0, 0, image->Xsize, image->Ysize / frames, NULL))
		return -1;
	result = find_on(job, first, output, &best);
	g_object_unref(first);
	if (frames > 1 || output->keep || output->format == SPW_JPEG)
		drop(&best);
	*found = best.encoded;
	return result;
}
