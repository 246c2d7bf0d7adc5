/* The threads of libvips, which must not leave. */
#include "stages.h"

/* Of libvips before 8.15.5, a thread that has had no work for 15 seconds leaves.
 * Between its wait and its farewell it may be given work: what it and its giver
 * hold is freed then, and the process dies of it, or the work is never done
 * (mended upstream by pull request 4137). The moment is short, but under changing
 * load there are many.
 *
 * libvips calls its own function for that wait through the dynamic linker, which
 * prefers the program's: here a wait does not end. Idle threads cost a page or
 * two and are never more than have worked at the same time. Weak, so that a
 * static libvips keeps its own rather than clash.
 */
static int kept;

#if VIPS_MAJOR_VERSION == 8 && VIPS_MINOR_VERSION < 16
__attribute__((weak)) int
vips_semaphore_down_timeout(VipsSemaphore *semaphore, gint64 timeout)
{
	__atomic_store_n(&kept, 1, __ATOMIC_RELAXED);
	return vips_semaphore_down(semaphore);
}
#endif

/* Whether threads stay or may leave safely. Known only once there has been work. */
int
spw_threads_are_safe(void)
{
	int version = vips_version(0) * 10000 + vips_version(1) * 100 + vips_version(2);

	return version >= 81505 || __atomic_load_n(&kept, __ATOMIC_RELAXED);
}
