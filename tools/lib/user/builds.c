/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/privileges.h>
#include <plumb/core/reasons.h>
#include <plumb/inflight/states.h>
#include <plumb/symbols/elffile.h>
#include <plumb/user/builds.h>
#include <plumb/user/mappings.h>
#include <plumb/user/return-danger.h>

#include "builds-file.h"

struct plumb_traced plumb_traced;

static struct plumb_build *find_build(size_t file, const struct stat *st)
{
	for (size_t i = 0; i < plumb_traced.n; i++)
		if (plumb_traced.list[i].file == file &&
		    plumb_build_is_of(&plumb_traced.list[i], st))
			return &plumb_traced.list[i];
	return NULL;
}

/* Has the tool mark the functions that it cannot trace, and removes these. */
static int check(struct plumb_userfuncs *found)
{
	int err = plumb_traced.use->check ? plumb_traced.use->check(found) : 0;

	plumb_userfuncs_drop(found);
	return err;
}

/* Finds the functions of the targets in another build: by name, each pattern again. */
static int find_functions(struct plumb_build *b)
{
	const struct plumb_userfuncs *wanted = &plumb_traced.targets->files[b->file];
	struct plumb_userfunc *one;
	struct plumb_userfuncs found;
	int err = 0;

	b->functions.list = plumb_zeroed(wanted->n, sizeof(*b->functions.list));
	b->functions.n = wanted->n;
	b->functions.is_usdt = wanted->is_usdt;
	for (size_t i = 0; i < plumb_traced.n_patterns && !err; i++) {
		if (!(plumb_user_files.list[b->file].patterns >> i & 1))
			continue;
		err = plumb_user_target_find_in(b->fd, wanted->path, &plumb_traced.patterns[i],
						plumb_traced.use->purpose, &found);
		err = err ?: check(&found);
		for (size_t j = 0; j < wanted->n && !err; j++) {
			one = plumb_build_function(&found, wanted->list[j].name);
			if (!one || b->functions.list[j].name)
				continue;
			b->functions.list[j] = *one;
			b->functions.list[j].name = plumb_copied(one->name);
			b->functions.list[j].aliases = NULL;
			one->returns = NULL; /* taken, and the places */
			one->places = NULL;
			one->n_places = 0;
		}
		plumb_userfuncs_free(&found);
	}
	return err;
}

/* Adds the build that FD, which it takes, refers to; NULL: it is not added. */
static struct plumb_build *add_build(size_t file, int fd, const struct stat *st)
{
	struct plumb_build *b = &plumb_traced.list[plumb_traced.n];

	if (plumb_traced.n == PLUMB_BUILDS) {
		if (!plumb_traced.full_said)
			plumb_warn("more than %d builds of files: others are not traced",
				   PLUMB_BUILDS);
		plumb_traced.full_said = true;
		close(fd);
		return NULL;
	}
	*b = (struct plumb_build){
		.number = plumb_traced.n,
		.file = file,
		.fd = fd,
		.device = st->st_dev,
		.inode = st->st_ino,
		.changed = st->st_mtim,
		.size = st->st_size,
	};
	plumb_build_set_path(b);
	plumb_build_read_id(b);
	plumb_builds_watch(b->fd, NULL);
	plumb_traced.n++;
	return b;
}

/* --- finding builds --- */

/* A process maps a file of this path, which is or was at the path of number FILE. */
static void take_mapping(void *context, pid_t pid, const struct plumb_vma *area)
{
	const size_t file = *(const size_t *)context;
	int fd = plumb_map_open(pid, area);
	struct plumb_build *b;
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) || find_build(file, &st) ||
	    !plumb_user_file_may_be(file, pid, area, &st)) {
		close(fd);
		return;
	}
	b = add_build(file, fd, &st);
	if (!b)
		return;
	b->deleted = true;
	if (find_functions(b)) /* a message has been printed */
		b->functions.n = 0;
}

/* The first build of a file has the functions of the targets themselves. */
static int add_first_build(size_t file)
{
	const struct plumb_user_file *f = &plumb_user_files.list[file];
	struct plumb_build *b = add_build(file, fcntl(f->fd, F_DUPFD_CLOEXEC, 0), &f->st);

	if (!b)
		return -E2BIG;
	b->functions.list = plumb_traced.targets->files[file].list;
	b->functions.n = plumb_traced.targets->files[file].n;
	b->functions.is_usdt = f->is_usdt;
	return 0;
}

/* Adds to the targets what the pattern means in the file. */
static int add_targets(const struct plumb_user_file *f, const struct plumb_user_pattern *p)
{
	const struct plumb_options *o = plumb_traced.options;
	struct plumb_userfuncs found;
	int err = plumb_user_target_find(f, p, o->n_pids == 1 ? o->pids[0] : 0,
					 plumb_traced.use->purpose, &found);

	if (err)
		return err;
	err = check(&found);
	if (!err)
		return plumb_targets_add_userfuncs(plumb_traced.targets, &found);
	plumb_userfuncs_free(&found);
	return err;
}

/* Opens the files of the patterns, and judges them. */
static int open_files(void)
{
	const struct plumb_builds_use *use = plumb_traced.use;
	const struct plumb_options *o = plumb_traced.options;
	struct plumb_user_file *f = plumb_user_files.list;
	int err = 0;

	for (size_t i = 0; i < plumb_traced.n_patterns && !err; i++)
		err = plumb_user_files_open(&plumb_traced.patterns[i], i, o->pids, o->n_pids);
	for (; f < plumb_user_files.list + plumb_user_files.n && !err; f++)
		if (use->purpose != PLUMB_USER_ENTRIES)
			err = plumb_return_danger(f, o);
	return !err && use->opened ? use->opened() : err;
}

/* Finds the targets in all files; if the tool then has another purpose, again. */
static int find_targets(void)
{
	const struct plumb_user_pattern *patterns = plumb_traced.patterns;
	const struct plumb_user_file *f = plumb_user_files.list;
	int err = 0;

	for (; f < plumb_user_files.list + plumb_user_files.n && !err; f++)
		for (size_t j = 0; j < plumb_traced.n_patterns && !err; j++)
			if (f->patterns >> j & 1)
				err = add_targets(f, &patterns[j]);
	if (err != -EAGAIN)
		return err ?: plumb_targets_count(plumb_traced.targets);
	plumb_targets_free(plumb_traced.targets);
	return find_targets();
}

int plumb_builds_open(struct plumb_targets *targets, const struct plumb_user_pattern *patterns,
		      size_t n, const struct plumb_builds_use *use, const struct plumb_options *o)
{
	int err;

	plumb_retain_later(plumb_builds_retain);
	plumb_traced.use = use;
	plumb_traced.options = o;
	plumb_traced.targets = targets;
	plumb_traced.patterns = patterns;
	plumb_traced.n_patterns = n;
	err = open_files() ?: find_targets();
	for (size_t i = 0; i < targets->n_files && !err; i++)
		err = add_first_build(i);
	plumb_traced.looked = plumb_now();
	for (size_t i = 0; i < targets->n_files && !err; i++) {
		if (!plumb_user_files.list[i].of_host)
			continue;
		plumb_builds_watch(-1, targets->files[i].path);
		plumb_mappings_find(0, &(struct plumb_mapped){.path = targets->files[i].path},
				    take_mapping, &i);
	}
	return err;
}

static void attach_later(size_t i, const char *path)
{
	char what[256];
	int err = plumb_build_attach(&plumb_traced.list[i], what, sizeof(what));

	plumb_traced.list[i].gap = plumb_now() - (plumb_traced.unfinished ?: plumb_traced.looked);
	if (err)
		plumb_warn("%s was replaced, and the new file cannot be traced: %s%s", path,
			   plumb_errno_name(err), plumb_errno_hint(err));
	else
		plumb_info("%s was replaced: the new file is traced as well", path);
}

static void mark_deleted(size_t file, const struct stat *st)
{
	for (size_t i = 0; i < plumb_traced.n; i++)
		if (plumb_traced.list[i].file == file)
			plumb_traced.list[i].deleted =
				!plumb_build_is_of(&plumb_traced.list[i], st);
}

/*
 * Attaches to the file that the path of number FILE leads to now, if it is another one.  Returns
 * false if that is being written.
 */
static bool look_at_path(size_t file)
{
	const char *path = plumb_traced.targets->files[file].path;
	struct plumb_build *b;
	struct stat st;
	int fd = plumb_user_file_reopen(&plumb_user_files.list[file], &st);

	if (fd < 0)
		return true;
	mark_deleted(file, &st);
	b = find_build(file, &st);
	if (b && !plumb_build_has_grown(b, &st)) {
		close(fd);
		return true;
	}
	if (plumb_build_is_unfinished(fd, &st)) {
		close(fd);
		return false;
	}
	if (b)
		plumb_build_look_again(b, fd, &st);
	else
		b = add_build(file, fd, &st);
	if (b && find_functions(b))
		b->functions.n = 0;
	/* Those mapped in between that have been replaced already. */
	plumb_mappings_find(0, &(struct plumb_mapped){.path = path}, take_mapping, &file);
	mark_deleted(file, &st);
	for (size_t i = 0; i < plumb_traced.n; i++)
		if (plumb_traced.list[i].functions.n && !plumb_traced.list[i].since.tv_sec)
			attach_later(i, path);
	return true;
}

static void detach_build(struct plumb_build *b)
{
	const struct timespec since = plumb_build_changed_at(b, plumb_traced.looked);

	plumb_probe_detach_some(plumb_traced.probes, b->first_probe, b->probes);
	clock_gettime(CLOCK_REALTIME, &b->until);
	close(b->fd);
	b->fd = -1;
	plumb_build_tell_change(b, &since);
}

static void look_again(void)
{
	const uint64_t now = plumb_now();
	bool finished = true;

	for (size_t i = 0; i < plumb_traced.n; i++)
		if (plumb_traced.list[i].fd >= 0 && plumb_traced.list[i].functions.n &&
		    plumb_build_is_changed(&plumb_traced.list[i]))
			detach_build(&plumb_traced.list[i]);
	for (size_t i = 0; i < plumb_traced.targets->n_files; i++)
		finished &= look_at_path(i);
	plumb_traced.unfinished = finished ? 0 : plumb_traced.unfinished ?: plumb_traced.looked;
	plumb_traced.looked = now;
}

static uint64_t tick(uint64_t elapsed)
{
	if (!plumb_traced.n)
		return 0;
	if (plumb_builds_take_events() || plumb_now() - plumb_traced.looked >= PLUMB_SECOND / 4)
		look_again();
	if (elapsed) /* those of processes that are gone make room for others */
		plumb_states_settle(plumb_traced.bpf);
	return elapsed + PLUMB_SECOND / 4;
}

const struct plumb_traced_files plumb_builds = {
	.tick = tick,
	.fd = plumb_builds_fd,
	.footer = plumb_builds_print,
	.report_json = plumb_builds_add_json,
};
