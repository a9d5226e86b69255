/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/symbols/maps.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/symbols/debugfile.h>

bool plumb_maps_cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path), m = sizeof(mark) - 1;

	if (n <= m || strcmp(path + n - m, mark))
		return false;
	path[n - m] = 0;
	return true;
}

/* "START-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH" */
static bool parse(char *line, struct plumb_vma *vma)
{
	unsigned int major, minor;
	char permissions[5];
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &vma->start, &vma->end, permissions, &vma->offset, &major, &minor, &vma->inode,
		   &at) != 7 ||
	    !at || strlen(permissions) != 4)
		return false;
	vma->device = (uint64_t)major << 32 | minor;
	vma->is_code = permissions[2] == 'x';
	vma->path = line + at;
	vma->is_deleted = vma->inode && plumb_maps_cut_deleted(vma->path);
	return true;
}

int plumb_maps_read(FILE *f, int (*each)(void *context, struct plumb_vma *vma), void *context)
{
	struct plumb_vma vma = {};
	char *line = NULL;
	size_t room = 0;
	int err = 0;

	while (!err && getline(&line, &room, f) >= 0)
		if (parse(line, &vma))
			err = each(context, &vma);
	free(line);
	return err;
}

int plumb_maps_of(pid_t pid, int (*each)(void *context, struct plumb_vma *vma), void *context)
{
	char path[32], buffer[1 << 14];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	setvbuf(f, buffer, _IOFBF, sizeof(buffer)); /* the default, 1 kB, needs more reads */
	err = plumb_maps_read(f, each, context);
	fclose(f);
	return err;
}

const char *plumb_map_file(char link[PLUMB_MAP_FILE], pid_t pid, uint64_t start, uint64_t end)
{
	snprintf(link, PLUMB_MAP_FILE, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	return link;
}

static int open_by_path(pid_t pid, const struct plumb_vma *area)
{
	char path[32];
	int root, fd;

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = root < 0 ? -EPERM : plumb_open_inode_in_root(root, area->path, area->inode);
	if (root >= 0)
		close(root);
	return fd < 0 ? -EPERM : fd;
}

int plumb_map_open(pid_t pid, const struct plumb_vma *area)
{
	char link[PLUMB_MAP_FILE];
	int fd = plumb_open_here(plumb_map_file(link, pid, area->start, area->end));

	return fd == -EPERM ? open_by_path(pid, area) : fd;
}

int plumb_map_stat(pid_t pid, const struct plumb_vma *area, struct stat *st)
{
	char link[PLUMB_MAP_FILE];
	int fd, err;

	if (!stat(plumb_map_file(link, pid, area->start, area->end), st))
		return 0;
	err = -errno;
	fd = err == -EPERM ? open_by_path(pid, area) : err;
	if (fd < 0)
		return fd;
	err = fstat(fd, st) ? -errno : 0;
	close(fd);
	return err;
}
