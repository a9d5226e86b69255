/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/files/atomic-file.h>
#include <plumb/files/writer.h>

#include <plumb/files/folder.h>

static int cannot_write(const char *path, int err)
{
	return plumb_error(err, "--out: cannot write %s: %s", path, plumb_atomic_file_error(err));
}

static int check(const char *path)
{
	struct plumb_atomic_file f;
	int err = plumb_atomic_file_find(&f, path), busy = 0;

	if (err)
		return cannot_write(path, err);
	plumb_writer_add(path, plumb_atomic_file_takes(&f));
	if (f.was.st_mode && faccessat(f.dir, f.name, W_OK, AT_EACCESS))
		err = -errno;
	/* A pipe needs no reader yet. */
	if (!err && !S_ISFIFO(f.was.st_mode))
		err = plumb_atomic_file_open(&f);
	if (!err && !f.as_it_is)
		busy = sole_claim("--out", path, f.dir, f.name);
	if (f.name)
		plumb_atomic_file_end(&f, -ECANCELED);
	return err ? cannot_write(path, err) : busy;
}

int dump_check(const char *path)
{
	void *own = plumb_as_user();
	int err = check(path);

	plumb_as_tool(own);
	return err;
}

static int to_file(const struct plumb_options *o, const struct plumb_report *last,
		   int (*write)(const struct plumb_report *last, FILE *out))
{
	const char *path = o->keep.out;
	struct plumb_atomic_file f;
	int err = plumb_atomic_file_begin(&f, path);

	if (!err) {
		err = write(last, f.out);
		if (!err)
			err = plumb_atomic_file_rotate(&f, o->keep.max_dumps);
		err = plumb_atomic_file_end(&f, err);
	}
	return err ? cannot_write(path, err) : 0;
}

static int to_stdout(const struct plumb_report *last,
		     int (*write)(const struct plumb_report *last, FILE *out))
{
	int err = write(last, stdout);

	if (!err && (fflush(stdout) || ferror(stdout)))
		err = -(errno ?: EIO);
	if (!err || err == -EPIPE)
		return err;
	/* The next one may succeed; the exit must not report this one again. */
	clearerr(stdout);
	return plumb_error(err, "cannot write to standard output: %s", strerror(-err));
}

int dump_write(const struct plumb_options *o, const struct plumb_report *last,
	       int (*write)(const struct plumb_report *last, FILE *out))
{
	return o->keep.out ? to_file(o, last, write) : to_stdout(last, write);
}
