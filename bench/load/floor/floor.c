/* The floor of the benchmark: what libvips itself costs for the same picture,
 * with the source in memory, one thread, no cache, and nothing around it.
 *
 * Usage: floor FILE LOAD WIDTH SUFFIX [WIDTH SUFFIX]...
 *
 * LOAD holds the loader's options and says how the source is shrunk while it
 * is loaded: "shrink=4,access=sequential" of a JPEG, "scale=0.22" of a WebP.
 * With n=-1, animations, libvips' own thumbnail call does all. SUFFIX is one of
 * libvips: ".webp[Q=80,effort=4,strip]". Several outputs share one decode.
 *
 * For every line with a number on standard input it makes the outputs that
 * often and prints the CPU milliseconds and the bytes of one run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <vips/vips.h>

static double cpu_ms(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
		(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static size_t little_endian(const unsigned char *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (size_t) p[3] << 24;
}

/* The WebP saver of libvips 8.14 writes EXIF in spite of strip. It is no part
 * of the picture, so it does not count.
 */
static size_t without_metadata(const unsigned char *file, size_t size)
{
	size_t at, chunk, rest = size;
	if (size < 12 || memcmp(file, "RIFF", 4))
		return size;
	for (at = 12; at + 8 <= size; at += chunk) {
		chunk = 8 + ((little_endian(file + at + 4) + 1) & ~(size_t) 1);
		if (!memcmp(file + at, "EXIF", 4) || !memcmp(file + at, "XMP ", 4) || !memcmp(file + at, "ICCP", 4))
			rest -= chunk;
	}
	return rest;
}

static int save(VipsImage *image, const char *suffix, size_t *bytes)
{
	void *out;
	size_t size;
	if (vips_image_write_to_buffer(image, suffix, &out, &size, NULL))
		return -1;
	*bytes += without_metadata(out, size);
	g_free(out);
	return 0;
}

static int animation(void *data, size_t length, char **argv, size_t *bytes)
{
	VipsImage *image;
	int result;
	if (vips_thumbnail_buffer(data, length, &image, atoi(argv[3]), "height", 10000000, "size", VIPS_SIZE_DOWN,
			"option_string", argv[2], NULL))
		return -1;
	result = save(image, argv[4], bytes);
	g_object_unref(image);
	return result;
}

/* Several outputs read the pixels more than once, so these are held. */
static VipsImage *load(void *data, size_t length, const char *options, int outputs)
{
	VipsImage *image = vips_image_new_from_buffer(data, length, options, NULL);
	VipsImage *held;
	if (!image || outputs == 1)
		return image;
	held = vips_image_copy_memory(image);
	g_object_unref(image);
	return held;
}

static int picture(void *data, size_t length, int argc, char **argv, size_t *bytes)
{
	VipsImage *image = load(data, length, argv[2], (argc - 3) / 2);
	VipsImage *small;
	int i, result = 0;
	if (!image)
		return -1;
	for (i = 3; i < argc && !result; i += 2) {
		if (vips_thumbnail_image(image, &small, atoi(argv[i]), "height", 10000000, "size", VIPS_SIZE_DOWN, NULL)) {
			result = -1;
			break;
		}
		result = save(small, argv[i + 1], bytes);
		g_object_unref(small);
	}
	g_object_unref(image);
	return result;
}

static int once(void *data, size_t length, int argc, char **argv, size_t *bytes)
{
	*bytes = 0;
	if (strstr(argv[2], "n=-1"))
		return animation(data, length, argv, bytes);
	return picture(data, length, argc, argv, bytes);
}

int main(int argc, char **argv)
{
	gchar *data;
	gsize length;
	size_t bytes;
	char line[64];
	if (argc < 5 || argc % 2 == 0 || VIPS_INIT(argv[0]))
		return 2;
	vips_concurrency_set(1);
	vips_cache_set_max(0);
	if (!g_file_get_contents(argv[1], &data, &length, NULL)) {
		fprintf(stderr, "cannot read %s\n", argv[1]);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		int runs = atoi(line);
		double began = cpu_ms();
		for (int i = 0; i < runs; i++)
			if (once(data, length, argc, argv, &bytes)) {
				fprintf(stderr, "%s\n", vips_error_buffer());
				return 1;
			}
		printf("%.3f %zu\n", (cpu_ms() - began) / runs, bytes);
		fflush(stdout);
	}
	return 0;
}
