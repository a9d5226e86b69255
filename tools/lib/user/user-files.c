/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/user/user-files.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/privileges.h>
#include <plumb/kernel/thread.h>
#include <plumb/symbols/binary.h>
#include <plumb/symbols/debugfile.h>
#include <plumb/symbols/owners.h>
#include <plumb/user/mappings.h>
#include <plumb/user/user-targets.h>

struct plumb_user_files plumb_user_files;

/* A pattern's FILE, and what was found of it. */
struct meaning {
	const char *file;
	size_t pattern;
	bool is_usdt;
	bool is_mapped; /* found in the mappings of a process, by its name */
	int found, err;
	const struct plumb_user_file *added; /* the last, if it was not known before */
};

static struct plumb_user_file *find(const struct stat *st, bool is_usdt)
{
	for (size_t i = 0; i < plumb_user_files.n; i++)
		if (plumb_user_files.list[i].st.st_dev == st->st_dev &&
		    plumb_user_files.list[i].st.st_ino == st->st_ino &&
		    plumb_user_files.list[i].is_usdt == is_usdt)
			return &plumb_user_files.list[i];
	return NULL;
}

/* Whether another file has that path: of another process, or one that was replaced. */
static bool is_shown(const char *path, bool is_usdt)
{
	for (size_t i = 0; i < plumb_user_files.n; i++)
		if (plumb_user_files.list[i].is_usdt == is_usdt &&
		    !strcmp(plumb_user_files.list[i].shown, path))
			return true;
	return false;
}

/*
 * Adds the file of FD, which it takes, if it is new; the pattern means it.  PID: process PID leads
 * to it, so its owner is checked; 0: the user has named it.
 */
static int add(struct meaning *m, const char *shown, int fd, pid_t pid, bool of_host)
{
	struct plumb_user_file *f;
	char why[128];
	struct stat st;

	if (fd == -EPERM && pid)
		plumb_tell_lack(PLUMB_CAP(CHECKPOINT_RESTORE),
				"files that processes map, and no path leads to");
	if (fd < 0)
		return plumb_error(-fd, "cannot open %s: %s", shown,
				   fd == -EINVAL ? "not a file" : strerror(-fd));
	if (fstat(fd, &st)) {
		close(fd);
		return plumb_error(errno, "%s: %s", shown, strerror(errno));
	}
	if (pid && !plumb_owner_is_known(pid, st.st_uid, why, sizeof(why))) {
		close(fd);
		return plumb_error(EPERM, "%s is not read: it %s", shown, why);
	}
	f = find(&st, m->is_usdt);
	if (f) {
		close(fd);
	} else if (plumb_user_files.n == PLUMB_MAX_USER_FILES) {
		close(fd);
		return plumb_error(E2BIG, "at most %d files", PLUMB_MAX_USER_FILES);
	} else {
		const bool is_other = is_shown(shown, m->is_usdt);

		m->added = f = &plumb_user_files.list[plumb_user_files.n];
		*f = (struct plumb_user_file){
			.typed = m->file,
			.shown = is_other ? plumb_text("%s (inode %llu)", shown,
						       (unsigned long long)st.st_ino)
					  : plumb_copied(shown),
			.fd = fd,
			.is_usdt = m->is_usdt,
			.is_mapped = m->is_mapped,
			.of_host = of_host && !is_other,
			.st = st,
		};
		plumb_user_files.n++;
	}
	f->patterns |= 1ULL << m->pattern;
	return 0;
}

static int open_here(struct meaning *m)
{
	char *path;
	int err = plumb_binary_find(m->file, &path);

	if (err)
		return err;
	err = add(m, path, plumb_open_here(path), 0, true);
	free(path);
	return err;
}

/* A path in the root directory of a process. */
static int open_there(struct meaning *m, pid_t pid)
{
	char root[32], *shown;
	int dir, fd, err;

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return plumb_error(errno, "cannot open %s: %s", root, strerror(errno));
	fd = plumb_open_in_root(dir, m->file, true);
	close(dir);
	shown = plumb_text("%s%s", root, m->file);
	err = add(m, shown, fd, pid, false);
	free(shown);
	return err;
}

static void add_mapped(void *context, pid_t pid, const struct plumb_vma *area)
{
	bool here = plumb_mappings_share_files(pid, getpid());
	struct meaning *m = context;
	char root[32] = "", *shown;

	m->is_mapped = true;
	m->found++;
	if (!here)
		snprintf(root, sizeof(root), "/proc/%d/root", pid);
	shown = plumb_text("%s%s", root, area->path);
	if (!m->err)
		m->err = add(m, shown, plumb_map_open(pid, area), pid, here);
	free(shown);
}

static void set_true(void *context, pid_t pid, const struct plumb_vma *area)
{
	*(bool *)context = true;
}

/* A process without a program is one of the kernel. */
static int check_process(pid_t pid)
{
	char path[32], program[8];

	if (kill(pid, 0) && errno == ESRCH)
		return plumb_error(ESRCH, "--pid: no process %d", pid);
	if (plumb_process_is_zombie(pid))
		return plumb_error(ESRCH, "--pid: process %d has ended (a zombie)", pid);
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (readlink(path, program, sizeof(program)) < 0 && errno == ENOENT)
		return plumb_error(
			EINVAL, "--pid: %d is a kernel thread, which calls no user functions", pid);
	return 0;
}

/* It may map the file later, by dlopen() or execve(); but often it runs another copy. */
static void warn_if_unmapped(const struct plumb_user_file *f, pid_t pid)
{
	bool mapped = false;

	plumb_mappings_find(pid, &(struct plumb_mapped){.inode = f->st.st_ino}, set_true, &mapped);
	if (!mapped)
		plumb_warn("process %d has not mapped %s: it is traced once it does", pid,
			   f->shown);
}

static int open_of_process(struct meaning *m, pid_t pid)
{
	bool here = plumb_mappings_share_files(pid, getpid());
	int err = check_process(pid);

	if (err)
		return err;
	m->found = m->err = 0;
	if (!strchr(m->file, '/'))
		plumb_mappings_find(pid, &(struct plumb_mapped){.name = m->file}, add_mapped, m);
	if (m->found)
		return m->err;
	if (!here && !strchr(m->file, '/'))
		return plumb_error(ENOENT, "process %d maps no file %s", pid, m->file);
	m->added = NULL;
	err = here || *m->file != '/' ? open_here(m) : open_there(m, pid);
	if (!err && m->added)
		warn_if_unmapped(m->added, pid);
	return err;
}

int plumb_user_files_open(const struct plumb_user_pattern *pattern, size_t number,
			  const uint32_t *pids, size_t n)
{
	struct meaning m = {.file = pattern->file, .pattern = number, .is_usdt = pattern->is_usdt};
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = open_of_process(&m, pids[i]);
	return n ? err : open_here(&m);
}

int plumb_user_file_reopen(struct plumb_user_file *f, struct stat *st)
{
	char *path = NULL;
	int fd;

	if (!f->of_host)
		return -ENOENT;
	/* The path of a library's name may be another than before. */
	if (strchr(f->typed, '/') || f->is_mapped)
		path = plumb_copied(f->shown);
	else if (plumb_binary_find(f->typed, &path))
		f->of_host = false; /* one message is enough */
	fd = path ? plumb_open_here(path) : -ENOENT;
	free(path);
	if (fd >= 0 && fstat(fd, st)) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

bool plumb_user_file_may_be(size_t file, pid_t pid, const struct plumb_vma *area,
			    const struct stat *st)
{
	char why[128];

	if (st->st_uid == plumb_user_files.list[file].st.st_uid ||
	    plumb_owner_is_known(pid, st->st_uid, why, sizeof(why)))
		return true;
	plumb_warn("%s, as process %d maps it, is not traced: it %s", area->path, pid, why);
	return false;
}
