/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/pictures/picture.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/files/folder.h>
#include <plumb/files/writer.h>

static struct plumb_picture_file *files;

static int cannot_write(const struct plumb_picture_file *file, int err)
{
	return plumb_error(err, "%s: cannot write %s: %s", file->option, file->path,
			   plumb_atomic_file_error(err));
}

static void forget(struct plumb_picture_file *file)
{
	if (file->place.name)
		plumb_atomic_file_end(&file->place, -ECANCELED);
}

static void forget_all(void)
{
	for (struct plumb_picture_file *file = files; file; file = file->next)
		forget(file);
}

static void list(struct plumb_picture_file *file)
{
	if (file->listed)
		return;
	if (!files)
		atexit(forget_all);
	file->listed = true;
	file->next = files;
	files = file;
}

/* Another picture that would replace the same file; NULL: none. */
static const struct plumb_picture_file *same_file(const struct plumb_picture_file *file)
{
	struct stat dir, other;

	if (file->place.as_it_is || fstat(file->place.dir, &dir))
		return NULL;
	for (const struct plumb_picture_file *f = files; f; f = f->next)
		if (f != file && f->place.name && !strcmp(f->place.name, file->place.name) &&
		    !fstat(f->place.dir, &other) && plumb_is_same_file(&dir, &other))
			return f;
	return NULL;
}

/* The file that is there; all zero: none. */
static struct stat look(const struct plumb_picture_file *file)
{
	struct stat st;

	return stat(file->path, &st) ? (struct stat){} : st;
}

/* Whether others have made or written to the file since; a device or pipe is no such file. */
static bool has_changed(const struct plumb_picture_file *file)
{
	const struct stat now = look(file), *was = &file->was;

	return file->checked && (!now.st_mode || S_ISREG(now.st_mode)) &&
	       (!plumb_is_same_file(&now, was) || now.st_size != was->st_size ||
		now.st_mtim.tv_sec != was->st_mtim.tv_sec ||
		now.st_mtim.tv_nsec != was->st_mtim.tv_nsec);
}

static int check(struct plumb_picture_file *file)
{
	const struct plumb_picture_file *same;
	int err;

	forget(file);
	list(file);
	err = plumb_atomic_file_find(&file->place, file->path);
	if (err)
		return cannot_write(file, err);
	same = same_file(file);
	if (same)
		return plumb_error(EINVAL, "%s: %s is the file of %s as well", file->option,
				   file->path, same->option);
	if (file->place.was.st_mode &&
	    faccessat(file->place.dir, file->place.name, W_OK, AT_EACCESS))
		err = -errno;
	/*
	 * A pipe needs no reader before the trace ends.  EPERM means an immutable file, which
	 * cannot be replaced either.
	 */
	if (!S_ISFIFO(file->place.was.st_mode) && err != -EPERM)
		err = plumb_atomic_file_open(&file->place);
	if (!err) {
		plumb_writer_add(file->path, plumb_atomic_file_takes(&file->place));
		/* It could be opened; no new file stays until the end. */
		plumb_atomic_file_end(&file->place, -ECANCELED);
		err = plumb_atomic_file_find(&file->place, file->path);
		file->was = look(file);
		file->checked = true;
	}
	return err ? cannot_write(file, err) : 0;
}

int plumb_picture_check(struct plumb_picture_file *file, bool only_words)
{
	void *own;
	int err;

	if (file->path && (!*file->path || !strcmp(file->path, "-")))
		plumb_usage_error("%s: not a file: '%s'", file->option, file->path);
	if (!file->path || only_words)
		return 0;
	own = plumb_as_user();
	err = check(file);
	plumb_as_tool(own);
	return err;
}

int plumb_picture_save(struct plumb_picture_file *file, int (*draw)(void *context, FILE *out),
		       void *context)
{
	int err;

	if (!file->path)
		return 0;
	forget(file);
	err = has_changed(file) ? -ESTALE : plumb_atomic_file_begin(&file->place, file->path);
	if (!err)
		err = plumb_atomic_file_end(&file->place, draw(context, file->place.out));
	file->checked = false;
	return err ? cannot_write(file, err) : 0;
}
