// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* maps, fuzzed: any bytes in the place of /proc/PID/maps. */
#include <stdlib.h>
#include <string.h>
#include <plumb/symbols/maps.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *context, struct plumb_vma *vma)
{
	size_t *paths = context;

	/* All of it is there, and EACH's to change. */
	*paths += strlen(vma->path);
	memset(vma->path, 'x', strlen(vma->path));
	return vma->is_code && !vma->start && !vma->inode;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *f = size ? fmemopen((void *)data, size, "r") : NULL;
	size_t paths = 0;

	if (!f)
		return 0;
	plumb_maps_read(f, take, &paths);
	fclose(f);
	if (paths > size)
		abort();
	return 0;
}
