/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <plumb/files/append-file.h>
#include <plumb/files/atomic-file.h>
#include <plumb/files/folder.h>
#include <plumb/files/writer.h>

static int judge(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	if (st.st_uid && st.st_uid != geteuid())
		return -EUSERS;
	if (plumb_file_is_spared(&st))
		return -ETXTBSY;
	/* Files of procfs are regular. */
	return plumb_is_in_proc(fd) ? -ENODATA : 0;
}

int plumb_append_file_open(const char *path)
{
	const char *name;
	int folder, fd, err;

	if (plumb_writer_has(path))
		return plumb_writer_open(path);
	folder = plumb_folder_of(AT_FDCWD, path, &name);
	if (folder < 0)
		return folder;
	fd = openat(folder, name,
		    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		    0666);
	err = fd >= 0 ? judge(fd) : errno == ELOOP ? -ENOLINK : -errno;
	close(folder);
	if (err && fd >= 0)
		close(fd);
	return err ?: fd;
}

const char *plumb_append_file_error(int err)
{
	switch (err) {
	case -ENOLINK:
		return "a symbolic link is not followed";
	case -EMEDIUMTYPE:
		return "not a regular file";
	case -EUSERS:
		return "belongs to another user";
	case -ENODATA:
		return "it keeps nothing (procfs)";
	default:
		return plumb_atomic_file_error(err);
	}
}
