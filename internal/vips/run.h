/* A run under way, shared by the files that carry it out: frames.c, share.c,
 * finish.c and run.c, in this order.
 */
#ifndef SPILLWAY_RUN_H
#define SPILLWAY_RUN_H

#include "stages.h"

/* A still has one frame, an animation as many as it keeps. */
typedef struct {
	SpwJob *job;
	const int *delays;
	VipsImage **frames;
	int count;
	VipsImage *mark;
	int upright; /* the frames are already turned */
	int premultiplied;
} Run;

typedef int (*Step)(Run *run, VipsImage **image, const void *argument);

/* frames.c */
int spw_each_frame(Run *run, Step step, const void *argument);
void spw_free_frames(VipsImage **frames, int count);
int spw_prepare_frames(Run *run, const void *src, size_t length);
int spw_hold_frames(Run *run);
int spw_stand_up(Run *run);
int spw_lies(const Run *run);
int spw_fit_layouts(Run *run, SpwOutput *outputs, int count);

/* share.c */
int spw_has_size(const Run *run, VipsImage *image, int width, int height);
int spw_scale(const Run *run, VipsImage **image, int width, int height);
int spw_share(Run *run, const SpwOutput *outputs, int count);

/* finish.c */
int spw_make_output(Run *run, SpwOutput *output, int last);

#endif
