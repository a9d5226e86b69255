/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/source.h"
#include "reading/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>

#define FIRST_ROOM (256u << 10)
#define PIPE_ROOM  4096

/* A named pipe that nobody has opened for writing is waited for, not for ever. */
static int await_writer(struct source *s)
{
	const uint64_t end = plumb_now() + 5 * PLUMB_SECOND;
	ssize_t got;

	s->kept = get(malloc(PIPE_ROOM));
	while (!(got = read(s->fd, s->kept, PIPE_ROOM)) && plumb_now() < end)
		usleep(20000);
	s->n_kept = got > 0 ? got : 0;
	if (!got)
		return plumb_error(ENXIO, "%s: a pipe that no process writes to", s->name);
	return 0;
}

static bool is_gzip(int fd)
{
	unsigned char magic[2];

	return pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

/* What is endless, as /dev/zero, is refused; 0 or -errno after a message. */
static int check_kind(struct source *s, const struct stat *st)
{
	struct statfs fs;

	if (S_ISDIR(st->st_mode))
		return plumb_error(EISDIR, "%s: a directory, not a file", s->name);
	if (S_ISBLK(st->st_mode) ||
	    (S_ISCHR(st->st_mode) && st->st_rdev != makedev(1, 3) && !isatty(s->fd)))
		return plumb_error(EINVAL, "%s: a device, not a file or pipe", s->name);
	/* Other pipes have had a writer. */
	if (S_ISFIFO(st->st_mode) && s->fd != STDIN_FILENO && !fstatfs(s->fd, &fs) &&
	    fs.f_type != PIPEFS_MAGIC)
		return await_writer(s);
	s->is_file = S_ISREG(st->st_mode);
	if (!s->is_file || !is_gzip(s->fd))
		return 0;
	s->is_file = false; /* going back would take decompressing again */
	s->gz = gzdopen(dup(s->fd), "rb");
	return s->gz ? 0 : plumb_error(ENOMEM, "%s: cannot be decompressed", s->name);
}

int source_open(struct source *s, const char *path)
{
	struct stat st;
	bool is_stdin = !strcmp(path, "-");
	int err;

	*s = (struct source){.name = is_stdin ? "standard input" : path};
	s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0)
		return plumb_error(errno, "%s: %s", path, strerror(errno));
	err = fstat(s->fd, &st) ? plumb_error(errno, "%s: %s", path, strerror(errno))
				: check_kind(s, &st);
	if (err)
		source_close(s);
	return err;
}

void source_close(struct source *s)
{
	if (s->fd > STDIN_FILENO)
		close(s->fd);
	if (s->gz)
		gzclose_r(s->gz);
	s->gz = NULL;
	s->fd = -1;
	free(s->kept);
	s->kept = NULL;
}

static void grow(struct source_buffer *b, size_t room)
{
	if (room <= b->room)
		return;
	b->room = room;
	b->data = get(realloc(b->data, room + 1));
}

/* Puts the buffer at the service of S. */
static int change(struct source_buffer *b, struct source *s)
{
	struct source *old = b->of;
	size_t unread = b->n - b->at;

	if (old == s)
		return 0;
	if (old && old->is_file && unread && lseek(old->fd, -(off_t)unread, SEEK_CUR) < 0)
		return plumb_error(errno, "%s: %s", old->name, strerror(errno));
	if (old && !old->is_file && unread) {
		old->kept = get(malloc(unread));
		old->n_kept = unread;
		memcpy(old->kept, b->data + b->at, unread);
	}
	b->of = s;
	b->at = 0;
	b->n = s->n_kept;
	grow(b, s->n_kept > FIRST_ROOM ? s->n_kept : FIRST_ROOM);
	if (s->n_kept)
		memcpy(b->data, s->kept, s->n_kept);
	free(s->kept);
	s->kept = NULL;
	s->n_kept = 0;
	return 0;
}

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
	got = gzread(s->gz, to, room < INT32_MAX ? room : INT32_MAX);
	if (got > 0)
		return got;
	/* A file that was cut off gives what it has, and then this. */
	gzerror(s->gz, &err);
	if (err == Z_OK || err == Z_STREAM_END)
		return 0;
	errno = err == Z_ERRNO ? errno : EBADMSG;
	return -1;
}

/* Reads more after what is not read yet.  0 or -errno after a message. */
static int fill(struct source_buffer *b, struct source *s)
{
	ssize_t got;

	if (b->at) {
		memmove(b->data, b->data + b->at, b->n - b->at);
		b->n -= b->at;
		b->at = 0;
	}
	if (b->n == b->room)
		grow(b, b->room * 2);
	got = read_some(s, b->data + b->n, b->room - b->n);
	if (got < 0)
		return plumb_error(errno, "%s: %s", s->name,
				   errno == EBADMSG
					   ? "what gzip has compressed is damaged, or cut off"
					   : strerror(errno));
	b->n += got;
	s->at_end = !got;
	return 0;
}

/* Drops the rest of a line that is too long. */
static int pass_over(struct source_buffer *b, struct source *s)
{
	char *newline = NULL;
	int err = 0;

	while (!err && !newline && !s->at_end) {
		b->at = b->n;
		err = fill(b, s);
		newline = memchr(b->data, '\n', b->n);
	}
	b->at = newline ? newline + 1 - b->data : (ptrdiff_t)b->n;
	s->too_long = false;
	return err;
}

int source_next(struct source *s, struct source_buffer *b, char **text, size_t *n)
{
	size_t searched = 0;
	char *newline;
	int err = change(b, s) ?: (s->too_long ? pass_over(b, s) : 0);

	while (!err) {
		newline = memchr(b->data + b->at + searched, '\n', b->n - b->at - searched);
		searched = b->n - b->at;
		if (newline || s->at_end)
			break;
		if (searched >= SOURCE_LONGEST) {
			s->line++;
			s->whole = s->too_long = true;
			return -EMSGSIZE;
		}
		err = fill(b, s);
	}
	if (err || (!newline && !searched))
		return err;
	s->line++;
	s->whole = newline;
	*text = b->data + b->at;
	*n = newline ? newline - *text : (ptrdiff_t)searched;
	(*text)[*n] = 0;
	b->at += *n + s->whole;
	return 1;
}

void source_buffer_free(struct source_buffer *b)
{
	free(b->data);
}
