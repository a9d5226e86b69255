/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <plumb/replace.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that is not there yet, of the rights that a new one has. */
static int open_beside(struct plumb_replacement *r)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&r->beside, "%s.XXXXXX", r->path) < 0) {
		r->beside = NULL;
		return -ENOMEM;
	}
	fd = mkstemp(r->beside);
	if (fd < 0)
		return -errno;
	fchmod(fd, 0666 & ~mask);
	r->out = fdopen(fd, "w");
	return r->out ? 0 : -errno;
}

/* A pipe that nobody reads would be waited for; once it is open, writing to it may wait. */
static int open_as_it_is(struct plumb_replacement *r, const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	fcntl(fd, F_SETFL, 0);
	r->out = fdopen(fd, "w");
	return r->out ? 0 : -errno;
}

int plumb_replace_begin(struct plumb_replacement *r, const char *path)
{
	struct stat st;
	int err;

	*r = (struct plumb_replacement){};
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return open_as_it_is(r, path);
	r->path = realpath(path, NULL) ?: strdup(path);
	err = r->path ? open_beside(r) : -ENOMEM;
	return err ? plumb_replace_end(r, err) : 0;
}

int plumb_replace_end(struct plumb_replacement *r, int err)
{
	if (r->out) {
		if (!err && (fflush(r->out) || ferror(r->out)))
			err = -(errno ?: EIO);
		/* A device has nothing to be made safe. */
		if (!err && r->beside && fsync(fileno(r->out)))
			err = -errno;
		if (fclose(r->out) && !err)
			err = -errno;
	}
	if (!err && r->beside && rename(r->beside, r->path))
		err = -errno;
	if (err && r->beside)
		unlink(r->beside);
	free(r->beside);
	free(r->path);
	*r = (struct plumb_replacement){};
	return err;
}
