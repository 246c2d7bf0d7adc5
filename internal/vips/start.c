/* Starting libvips, once a process, and what it tells of itself. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stages.h"

static gint64 warnings;

/* Libraries print what files make them complain about; a server must not
 * hand a stranger's bytes to its own log. They are counted instead.
 */
static void
count_message(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data)
{
	if (level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING))
		__atomic_add_fetch(&warnings, 1, __ATOMIC_RELAXED);
}

static GLogWriterOutput
count_structured(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer data)
{
	count_message(NULL, level, NULL, data);
	return G_LOG_WRITER_HANDLED;
}

/* Some codecs write past GLib, straight to C's stderr. In glibc that is a
 * variable, and Go does not use it: theirs can be one that only counts.
 */
#ifdef __GLIBC__
static ssize_t
count_text(void *cookie, const char *text, size_t length)
{
	__atomic_add_fetch(&warnings, 1, __ATOMIC_RELAXED);
	return (ssize_t) length;
}

static void
quieten_stderr(void)
{
	cookie_io_functions_t functions = { .write = count_text };
	FILE *counting = fopencookie(NULL, "w", functions);

	if (counting)
		stderr = counting;
}
#else
static void
quieten_stderr(void)
{
}
#endif

/* Loaders that libvips itself calls untrusted but that stand behind our own
 * checks. Names are of the base classes, so every source kind is meant.
 */
static const char *const wanted[] = {
	"VipsForeignLoadSvg", "VipsForeignLoadJxl", "VipsForeignLoadJp2k", "VipsForeignSaveJxl",
};

/* glibc gives each thread an arena until there are as many as it may make, and
 * never takes one away: freed pictures lie about in all of them. Go's threads
 * have theirs long before libvips is started, so the bound is set when the
 * program is loaded and has one thread. The user's word comes first.
 */
#ifdef M_ARENA_MAX
__attribute__((constructor)) static void
bound_arenas(void)
{
	/* What is freed in one arena cannot be used in the other. Few threads do
	 * not wait for each other at one.
	 */
	if (!getenv("MALLOC_ARENA_MAX"))
		mallopt(M_ARENA_MAX, sysconf(_SC_NPROCESSORS_ONLN) > 4 ? 2 : 1);
}
#endif

int
spw_start(int concurrency)
{
	quieten_stderr();
	spw_start_linear();
	spw_start_cmyk();
	g_log_set_default_handler(count_message, NULL);
	g_log_set_writer_func(count_structured, NULL, NULL);

	/* Decoded pixels stay in memory, whose use is budgeted; a temporary
	 * file would escape both the budget and the clean-up.
	 */
	g_setenv("VIPS_DISC_THRESHOLD", "1000000g", TRUE);
	if (spw_init_without_modules())
		return -1;
	spw_load_module("heif");
	spw_load_module("jxl");

	vips_concurrency_set(concurrency);
	vips_cache_set_max(0);
	vips_cache_set_max_mem(0);
	vips_cache_set_max_files(0);

	vips_block_untrusted_set(TRUE);
	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++)
		vips_operation_block_set(wanted[i], FALSE);
	return 0;
}

void
spw_allow_pdf(void)
{
	spw_load_module("poppler");
	vips_operation_block_set("VipsForeignLoadPdf", FALSE);
}

void
spw_stats(SpwStats *stats)
{
	stats->memory = (int64_t) vips_tracked_get_mem();
	stats->allocations = vips_tracked_get_allocs();
	stats->files = vips_tracked_get_files();
	stats->warnings = __atomic_load_n(&warnings, __ATOMIC_RELAXED);
}

void
spw_trim_memory(void)
{
	malloc_trim(0);
}

const char *
spw_version(void)
{
	return vips_version_string();
}

void
spw_thread_done(void)
{
	vips_thread_shutdown();
}

void
spw_free(void *pointer)
{
	g_free(pointer);
}

static const char *const loaders[SPW_FORMATS] = {
	[SPW_JPEG] = "jpegload_buffer", [SPW_PNG] = "pngload_buffer",	[SPW_WEBP] = "webpload_buffer",
	[SPW_GIF] = "gifload_buffer",	[SPW_TIFF] = "tiffload_buffer", [SPW_HEIF] = "heifload_buffer",
	[SPW_AVIF] = "heifload_buffer", [SPW_SVG] = "svgload_buffer",	[SPW_JXL] = "jxlload_buffer",
	[SPW_JP2] = "jp2kload_buffer",	[SPW_PDF] = "pdfload_buffer",
};

static const char *const savers[SPW_FORMATS] = {
	[SPW_JPEG] = "jpegsave_target", [SPW_PNG] = "pngsave_target",	[SPW_WEBP] = "webpsave_target",
	[SPW_GIF] = "gifsave_target",	[SPW_TIFF] = "tiffsave_buffer", [SPW_AVIF] = "heifsave_target",
	[SPW_JXL] = "jxlsave_target",
};

static int
exists(const char *operation)
{
	return operation && vips_type_find("VipsOperation", operation) != 0;
}

int
spw_has_loader(int format)
{
	return exists(loaders[format]);
}

int
spw_has_saver(int format)
{
	return exists(savers[format]);
}
