/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/file.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>

static int too_large(const char *option, const char *path, size_t most)
{
	return plumb_error(EFBIG, "%s: %s is larger than %zu MB", option, path, most >> 20);
}

/*
 * A user whose tool has capabilities to read what belongs to processes may not read any file by
 * them: what is wrong in it is quoted.
 */
static int open_as_user(const char *path)
{
	void *own = plumb_as_user();
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = errno;

	plumb_as_tool(own);
	errno = err;
	return fd;
}

int plumb_file_open(const char *option, const char *path, size_t most)
{
	int fd = open_as_user(path), err = 0;
	struct stat st;

	if (fd < 0)
		return plumb_error(errno, "%s: cannot open %s: %s", option, path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		err = plumb_error(EINVAL, "%s: %s is not a regular file", option, path);
	else if ((size_t)st.st_size > most)
		err = too_large(option, path, most);
	if (err)
		close(fd);
	return err ?: fd;
}

/* Counts what it reads: files of /proc are regular, have size 0 and may be endless. */
char *plumb_file_read(const char *option, const char *path, size_t most, size_t *size)
{
	int fd = plumb_file_open(option, path, most), err = 0;
	char *text = NULL;
	FILE *out;
	char buffer[1 << 13];
	ssize_t n;

	if (fd < 0)
		return NULL;
	out = open_memstream(&text, size);
	*size = 0;
	while (out && (n = read(fd, buffer, sizeof(buffer))) > 0 && *size + n <= most &&
	       fwrite(buffer, n, 1, out) == 1 && !fflush(out))
		;
	if (!out || ferror(out) || n < 0)
		err = plumb_error(errno, "%s: cannot read %s: %s", option, path, strerror(errno));
	else if (n)
		err = too_large(option, path, most);
	close(fd);
	if (out && fclose(out) && !err)
		err = plumb_error(ENOMEM, "%s: no memory for %s", option, path);
	if (!err)
		return text;
	free(text);
	return NULL;
}
