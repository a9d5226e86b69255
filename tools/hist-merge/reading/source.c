/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/source.h"
#include "reading/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>

/* As read(2). */
static ssize_t read_some(struct source *s, char *to, size_t room)
{
	ssize_t got;
	int err;

	if (!s->gz) {
		while ((got = read(s->fd, to, room)) < 0 && (errno == EINTR || errno == EAGAIN))
			poll(&(struct pollfd){.fd = s->fd, .events = POLLIN}, 1, -1);
		return got;
	}
	got = gzread(s->gz, to, room);
	if (got > 0)
		return got;
	/* A file that was cut off gives what it has, and then this. */
	gzerror(s->gz, &err);
	if (err == Z_OK || err == Z_STREAM_END)
		return 0;
	errno = err == Z_ERRNO ? errno : EBADMSG;
	return -1;
}

/* Removes the rest of a line that is too long.  Returns how much is left. */
static size_t pass_over(struct source *s, char *text, size_t n)
{
	const char *newline;

	if (s->too_long) {
		newline = memchr(text, '\n', n);
		if (!newline)
			return 0;
		n -= newline + 1 - text;
		memmove(text, newline + 1, n);
		s->too_long = false;
	}
	newline = memrchr(text, '\n', n);
	s->since = newline ? (size_t)(text + n - newline - 1) : s->since + n;
	return n;
}

static ssize_t read_lines(void *source, char *to, size_t room)
{
	struct source *s = source;
	ssize_t got, left;

	/* To the stream that is an end, after which source_next() goes on. */
	if (s->since >= SOURCE_LONGEST) {
		s->since = 0;
		s->too_long = true;
		return 0;
	}
	do {
		got = left = read_some(s, to, room);
		if (got > 0)
			left = pass_over(s, to, got);
	} while (got > 0 && !left);
	s->err = got < 0 ? errno : 0;
	return left;
}

/* A named pipe that nobody has opened for writing is waited for, not for ever. */
static int await_writer(struct source *s)
{
	const uint64_t end = plumb_now() + 5 * PLUMB_SECOND;
	ssize_t got;
	char first;

	while (!(got = read(s->fd, &first, 1)) && plumb_now() < end)
		usleep(20000);
	if (got > 0)
		ungetc(first, s->lines);
	return got ? 0 : plumb_error(ENXIO, "%s: a pipe that no process writes to", s->name);
}

static bool is_gzip(int fd)
{
	unsigned char magic[2];

	return pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

/* What is endless, as /dev/zero, is refused; 0 or -errno after a message. */
static int check_kind(struct source *s)
{
	struct statfs fs;
	struct stat st;

	if (fstat(s->fd, &st))
		return plumb_error(errno, "%s: %s", s->name, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return plumb_error(EISDIR, "%s: a directory, not a file", s->name);
	if (S_ISBLK(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && st.st_rdev != makedev(1, 3) && !isatty(s->fd)))
		return plumb_error(EINVAL, "%s: a device, not a file or pipe", s->name);
	/* Other pipes have had a writer. */
	if (S_ISFIFO(st.st_mode) && s->fd != STDIN_FILENO && !fstatfs(s->fd, &fs) &&
	    fs.f_type != PIPEFS_MAGIC)
		return await_writer(s);
	if (!S_ISREG(st.st_mode) || !is_gzip(s->fd))
		return 0;
	s->gz = gzdopen(s->fd, "rb");
	return s->gz ? 0 : plumb_error(ENOMEM, "%s: cannot be decompressed", s->name);
}

int source_open(struct source *s, const char *path)
{
	const bool is_stdin = !strcmp(path, "-");
	int err;

	*s = (struct source){.name = is_stdin ? "standard input" : path};
	s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0)
		return plumb_error(errno, "%s: %s", path, strerror(errno));
	s->lines = get(fopencookie(s, "r", (cookie_io_functions_t){.read = read_lines}));
	err = check_kind(s);
	if (err)
		source_close(s);
	return err;
}

void source_close(struct source *s)
{
	if (s->lines)
		fclose(s->lines);
	if (s->gz)
		gzclose_r(s->gz);
	else if (s->fd > STDIN_FILENO)
		close(s->fd);
	*s = (struct source){};
}

int source_next(struct source *s, struct source_line *l)
{
	ssize_t n = getline(&l->text, &l->room, s->lines);

	if (!s->err && n < 0 && !feof(s->lines))
		s->err = errno;
	if (s->err)
		return plumb_error(s->err, "%s: %s", s->name,
				   s->err == EBADMSG
					   ? "what gzip has compressed is damaged, or cut off"
					   : strerror(s->err));
	if (n < 0)
		return 0;
	s->line++;
	s->whole = l->text[n - 1] == '\n';
	if (n >= SOURCE_LONGEST) {
		clearerr(s->lines);
		s->whole = true;
		return -EMSGSIZE;
	}
	l->n = n - s->whole;
	l->text[l->n] = 0;
	return 1;
}
