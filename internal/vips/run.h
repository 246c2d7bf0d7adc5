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
	VipsImage *frame; /* lazily, the one that is shown */
	VipsImage *cut;	  /* where frame begins, in an animation */
	int shown, count;
	VipsImage *mark;
	int upright; /* the frames are already turned */
} Run;

/* frames.c */
void spw_free_frames(Run *run);
int spw_prepare_frames(Run *run, const void *src, size_t length);
void spw_show(Run *run, int index);
int spw_stack(SpwJob *job, VipsImage *frame, int index, int count, VipsImage **strip);
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
