/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "source.h"
#include "memory.h"
#include "scan.h"
#include <errno.h>
#include <fcntl.h>
#include <plumb/base/log.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_ROOM (256u << 10)

int source_open(struct source *s, const char *path)
{
	struct stat st;
	bool is_stdin = !strcmp(path, "-");

	*s = (struct source){.name = is_stdin ? "standard input" : path};
	s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		return plumb_error(errno, "%s: %s", path, strerror(errno));
	if (fstat(s->fd, &st) || S_ISDIR(st.st_mode)) {
		source_close(s);
		return plumb_error(EISDIR, "%s: a directory, not a file", path);
	}
	s->is_file = S_ISREG(st.st_mode);
	return 0;
}

void source_close(struct source *s)
{
	if (s->fd > STDIN_FILENO)
		close(s->fd);
	s->fd = -1;
	free(s->kept);
	s->kept = NULL;
}

static void grow(struct source_buffer *b, size_t room)
{
	if (room <= b->room)
		return;
	b->room = room;
	b->data = get(realloc(b->data, room + 1 + SCAN_PADDING));
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
	do
		got = read(s->fd, b->data + b->n, b->room - b->n);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return plumb_error(errno, "%s: %s", s->name, strerror(errno));
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
	s->whole = newline;
	return err ?: -EMSGSIZE;
}

int source_next(struct source *s, struct source_buffer *b, char **text, size_t *n)
{
	size_t searched = 0;
	char *newline;
	int err = change(b, s);

	while (!err) {
		newline = memchr(b->data + b->at + searched, '\n', b->n - b->at - searched);
		searched = b->n - b->at;
		if (newline || s->at_end)
			break;
		if (searched >= SOURCE_LONGEST) {
			s->line++;
			return pass_over(b, s);
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
