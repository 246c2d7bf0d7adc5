/* The codecs that libvips keeps in modules of their own: only those that are
 * wanted are loaded. On its own it loads all there are, and with them
 * ImageMagick, OpenSlide and Poppler with all that they need, which takes time
 * and memory and is more code that can go wrong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include <gmodule.h>

#include "stages.h"

/* Where libvips would look for its modules, unless the user has said so. */
#define HOME "VIPSHOME"

int
spw_init_without_modules(void)
{
	int moved = g_getenv(HOME) != NULL, result;

	if (!moved)
		g_setenv(HOME, "/nonexistent", TRUE);
	result = VIPS_INIT("spillway");
	if (!moved)
		g_unsetenv(HOME);
	return result ? -1 : 0;
}

/* Modules lie beside the library. One that is not there is built in, or
 * missing; what works is tried later.
 */
void
spw_load_module(const char *name)
{
	Dl_info library;
	char *folder, *path;

	if (!dladdr((void *) vips_init, &library) || !library.dli_fname)
		return;
	folder = g_path_get_dirname(library.dli_fname);
	path = g_strdup_printf("%s/vips-modules-%d.%d/vips-%s.%s", folder, vips_version(0), vips_version(1), name,
		G_MODULE_SUFFIX);
	if (g_file_test(path, G_FILE_TEST_EXISTS)) {
		GModule *module = g_module_open(path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);

		/* Types that it has registered cannot be taken back. */
		if (module)
			g_module_make_resident(module);
	}
	g_free(path);
	g_free(folder);
}
