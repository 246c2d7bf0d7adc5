/* The floor of a benchmark: what libvips itself costs for one thumbnail, with
 * the source in memory and nothing around it.
 *
 * Usage: floor FILE WIDTH SUFFIX LOAD-OPTIONS RUNS
 * Prints the CPU time of one run in milliseconds, the mean over RUNS after a
 * first one that does not count. SUFFIX is a libvips one: ".webp[Q=80]".
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <vips/vips.h>

static double cpu_ms(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
		(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static int once(void *data, size_t length, const char *options, int width, const char *suffix)
{
	VipsImage *image;
	void *out;
	size_t size;
	if (vips_thumbnail_buffer(data, length, &image, width, "height", 10000000,
			"size", VIPS_SIZE_DOWN, "option_string", options, NULL))
		return -1;
	if (vips_image_write_to_buffer(image, suffix, &out, &size, NULL)) {
		g_object_unref(image);
		return -1;
	}
	g_object_unref(image);
	g_free(out);
	return 0;
}

int main(int argc, char **argv)
{
	gchar *data;
	gsize length;
	double began = 0;
	if (argc != 6 || VIPS_INIT(argv[0]))
		return 2;
	vips_concurrency_set(1);
	vips_cache_set_max(0);
	if (!g_file_get_contents(argv[1], &data, &length, NULL))
		return 1;
	int runs = atoi(argv[5]);
	for (int i = 0; i <= runs; i++) {
		if (i == 1)
			began = cpu_ms();
		if (once(data, length, argv[4], atoi(argv[2]), argv[3])) {
			fprintf(stderr, "%s\n", vips_error_buffer());
			return 1;
		}
	}
	printf("%.3f\n", (cpu_ms() - began) / runs);
	return 0;
}
