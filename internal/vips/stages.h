/* What the C files of this package share with each other, not with Go. */
#ifndef SPILLWAY_STAGES_H
#define SPILLWAY_STAGES_H

#include <vips/vips.h>

#include "bridge.h"

/* Replace *image by next, dropping the reference to the old one. */
static inline void
spw_replace(VipsImage **image, VipsImage *next)
{
	g_object_unref(*image);
	*image = next;
}

static inline int
spw_cancelled(SpwJob *job)
{
	return __atomic_load_n(&job->cancelled, __ATOMIC_RELAXED);
}

/* Each of these replaces *image and returns 0, or returns -1 and leaves it. */
int spw_guard(SpwJob *job, VipsImage **image, int source);
int spw_to_memory(SpwJob *job, VipsImage **image);
int spw_window(VipsImage **image);
int spw_crop(VipsImage **image, int x, int y, int width, int height);
int spw_turn(VipsImage **image, int turns, int mirror);
int spw_resize(VipsImage **image, int width, int height);
int spw_resize_linear(VipsImage **image, int width, int height);
int spw_canvas(VipsImage **image, const SpwRect *canvas, const double *background);
int spw_to_8bit(VipsImage **image);
double spw_light_of(double level);
double spw_level_of(double light);
void spw_start_linear(void);
void spw_start_cmyk(void);
int spw_print(VipsImage **image);
int spw_to_srgb(VipsImage **image);
int spw_drop_profile(VipsImage **image);
int spw_premultiply(VipsImage **image);
int spw_unpremultiply(VipsImage **image);
int spw_weigh(VipsImage **image);
int spw_clear(VipsImage **image);
int spw_flatten(VipsImage **image, const double *background);
int spw_with_alpha(VipsImage **image);
int spw_blur(SpwJob *job, VipsImage **image, double sigma);
int spw_sharpen(VipsImage **image, double sigma);
int spw_grayscale(VipsImage **image);
int spw_underlay(VipsImage **image, const double *ink);
int spw_cast_8bit(VipsImage **image);
int spw_to_rgb(VipsImage **image);
VipsIntent spw_profile_intent(VipsImage *image);
int spw_is_srgb_profile(VipsImage *image);
int spw_profile_matches(VipsImage *image);
int spw_profile_is_kept(VipsImage *image, int format);

int spw_init_without_modules(void);
void spw_load_module(const char *name);
VipsSource *spw_stoppable_source(SpwJob *job, const void *data, size_t length);
int spw_conclude(SpwJob *job, int stage);
int spw_load(SpwJob *job, const SpwLoad *load, const void *src, size_t length, VipsImage **out);
int spw_smart_place(VipsImage *image, int smart, int width, int height, int *x, int *y);
int spw_trim_box(VipsImage *image, double threshold, SpwRect *box);
int spw_keep_metadata(VipsImage **image, int keep);
int spw_stamp_frames(VipsImage **image, int height, const int *delays, int frames, int plays);
int spw_watermark(SpwJob *job, VipsImage **image, VipsImage *mark);
int spw_save_thumb(SpwJob *job, const SpwOutput *output, VipsImage *image, int frames);

/* What one encode gave, at which quality. */
typedef struct {
	unsigned char *data;
	size_t length;
	int quality;
} SpwEncoded;

int spw_try_quality(SpwJob *job, VipsImage *image, const SpwOutput *output, int quality, SpwEncoded *encoded);
int spw_load_own(SpwJob *job, int format, const SpwEncoded *encoded, VipsImage **out);
int spw_find_likeness(SpwJob *job, VipsImage *image, const SpwOutput *output, int frames, SpwEncoded *found);

int spw_save(SpwJob *job, const SpwOutput *output, VipsImage *image, int frames);
int spw_pack(SpwJob *job, const SpwOutput *output, VipsImage *image, int frames);
int spw_save_webp_still(SpwJob *job, VipsImage *image, const SpwOutput *output, int quality, VipsTarget *target);
int spw_webp_has_metadata(VipsImage *image);
int spw_write_webp(VipsImage *image, int width, int height, const void *encoded, size_t length, VipsTarget *target);
int spw_save_webp_frames(SpwJob *job, VipsImage *image, const SpwOutput *output, int quality, VipsTarget *target);
int spw_format_alpha(int format);

#endif
