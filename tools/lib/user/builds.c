/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/privileges.h>
#include <plumb/core/reasons.h>
#include <plumb/guard/policy.h>
#include <plumb/inflight/states.h>
#include <plumb/symbols/elffile.h>
#include <plumb/user/builds.h>
#include <plumb/user/mappings.h>

#include "builds-file.h"

static struct {
	const struct plumb_builds_use *use;
	struct plumb_targets *targets;
	const struct plumb_user_pattern *patterns;
	size_t n_patterns;
	struct plumb_build list[PLUMB_BUILDS];
	size_t n;
	bool full_said;
	uint64_t looked;     /* when the files were looked at last; ns, as plumb_now() */
	uint64_t unfinished; /* the same before a file came that is being written; 0: none is */
	const struct plumb_bpf *bpf; /* attached; NULL before */
	struct plumb_probes *probes;
} builds;

static struct plumb_build *find_build(size_t file, const struct stat *st)
{
	for (size_t i = 0; i < builds.n; i++)
		if (builds.list[i].file == file && plumb_build_is_of(&builds.list[i], st))
			return &builds.list[i];
	return NULL;
}

/* Finds the functions of the targets in another build: by name, each pattern again. */
static int find_functions(struct plumb_build *b)
{
	const struct plumb_userfuncs *wanted = &builds.targets->files[b->file];
	struct plumb_userfunc *one;
	struct plumb_userfuncs found;
	int err = 0;

	b->functions.list = plumb_zeroed(wanted->n, sizeof(*b->functions.list));
	b->functions.n = wanted->n;
	b->functions.is_usdt = wanted->is_usdt;
	for (size_t i = 0; i < builds.n_patterns && !err; i++) {
		if (!(plumb_user_file_at(b->file)->patterns >> i & 1))
			continue;
		err = plumb_user_target_find_in(b->fd, wanted->path, &builds.patterns[i],
						builds.use->purpose, &found);
		if (!err && builds.use->check)
			err = builds.use->check(&found);
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

/*
 * The kernel shows the path by which a perf event was attached as it is (bpftool link): it is the
 * file's own, where that leads to this file at the moment, unless what is attached to must be the
 * file that a policy allowed, whatever the path leads to by then.
 */
static void set_path(struct plumb_build *b)
{
	const char *own = builds.targets->files[b->file].path;
	struct stat st;

	free(b->functions.path);
	b->functions.shown = own;
	if (!plumb_policy_has_files() && !stat(own, &st) && plumb_build_is_of(b, &st))
		b->functions.path = plumb_copied(own);
	else
		b->functions.path = plumb_text("/proc/self/fd/%d", b->fd);
}

/* Adds the build that FD, which it takes, refers to; NULL: it is not added. */
static struct plumb_build *add_build(size_t file, int fd, const struct stat *st)
{
	struct plumb_build *b = &builds.list[builds.n];

	if (builds.n == PLUMB_BUILDS) {
		if (!builds.full_said)
			plumb_warn("more than %d builds of files: others are not traced",
				   PLUMB_BUILDS);
		builds.full_said = true;
		close(fd);
		return NULL;
	}
	*b = (struct plumb_build){
		.file = file,
		.fd = fd,
		.device = st->st_dev,
		.inode = st->st_ino,
		.changed = st->st_mtim,
		.size = st->st_size,
	};
	set_path(b);
	plumb_build_read_id(b);
	plumb_builds_watch(b->fd, NULL);
	builds.n++;
	return b;
}

/* --- attaching --- */

/* One by one, since some are absent, or all at once. */
static int attach_functions(const struct plumb_bpf *bpf, struct plumb_probes *probes,
			    const struct plumb_build *b, size_t index, char *what, size_t size)
{
	const size_t first = plumb_targets_first_of(builds.targets, b->file);
	bool whole = true;
	int err = -ENOENT, one;

	for (size_t i = 0; i < b->functions.n; i++)
		whole &= b->functions.list[i].name != NULL;
	if (whole)
		return builds.use->attach(bpf, probes, &b->functions, first, index, what, size);
	for (size_t i = 0; i < b->functions.n; i++) {
		struct plumb_userfuncs alone = {
			.path = b->functions.path,
			.shown = b->functions.shown,
			.list = &b->functions.list[i],
			.n = 1,
			.is_usdt = b->functions.is_usdt,
		};

		if (!alone.list->name)
			continue;
		one = builds.use->attach(bpf, probes, &alone, first + i, index, what, size);
		err = err ? one : 0;
	}
	return err;
}

/*
 * With a link for each process that is selected, others have no breakpoints, and pay nothing.  Not
 * with uprobe.multi: the first kernels that have it take PID for a thread (6.6 to 6.9).
 */
static int attach_build(size_t i, char *what, size_t size)
{
	struct plumb_build *b = &builds.list[i];
	const struct plumb_builds_use *use = builds.use;
	const uint32_t n = use->is_by_process && use->is_by_process(builds.bpf) ? use->n_pids : 0;
	int err = -ESRCH, one;

	set_path(b);
	b->code = plumb_build_code(b);
	b->first_probe = builds.probes->n;
	for (uint32_t j = 0; j < n; j++) {
		builds.probes->process = use->pids[j];
		one = attach_functions(builds.bpf, builds.probes, b, i, what, size);
		err = err ? one : 0;
	}
	builds.probes->process = 0;
	if (!n)
		err = attach_functions(builds.bpf, builds.probes, b, i, what, size);
	if (!err && use->attach_file)
		err = use->attach_file(builds.bpf, builds.probes, b->fd, &b->functions, what, size);
	b->probes = builds.probes->n - b->first_probe;
	clock_gettime(CLOCK_REALTIME, &b->since);
	return err;
}

int plumb_builds_attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			size_t size)
{
	int err = 0;

	builds.bpf = bpf;
	builds.probes = probes;
	for (size_t i = 0; i < builds.n && !err; i++)
		if (builds.list[i].functions.n)
			err = attach_build(i, what, size);
	return err;
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
	const struct plumb_user_file *f = plumb_user_file_at(file);
	struct plumb_build *b = add_build(file, fcntl(f->fd, F_DUPFD_CLOEXEC, 0), &f->st);

	if (!b)
		return -E2BIG;
	b->functions.list = builds.targets->files[file].list;
	b->functions.n = builds.targets->files[file].n;
	b->functions.is_usdt = f->is_usdt;
	return 0;
}

/* Adds to the targets what the pattern means in the file. */
static int add_targets(const struct plumb_user_file *f, const struct plumb_user_pattern *p)
{
	const struct plumb_builds_use *use = builds.use;
	struct plumb_userfuncs found;
	int err = plumb_user_target_find(f, p, use->n_pids == 1 ? use->pids[0] : 0, use->purpose,
					 &found);

	if (err)
		return err;
	err = use->check ? use->check(&found) : 0;
	if (!err)
		return plumb_targets_add_userfuncs(builds.targets, &found);
	plumb_userfuncs_free(&found);
	return err;
}

int plumb_builds_open(struct plumb_targets *targets, const struct plumb_user_pattern *patterns,
		      size_t n, const struct plumb_builds_use *use)
{
	struct plumb_user_file *f;
	int err = 0;

	plumb_retain_later(plumb_builds_retain);
	builds.use = use;
	builds.targets = targets;
	builds.patterns = patterns;
	builds.n_patterns = n;
	for (size_t i = 0; (f = plumb_user_file_at(i)) && !err; i++)
		for (size_t j = 0; j < n && !err; j++)
			if (f->patterns >> j & 1)
				err = add_targets(f, &patterns[j]);
	if (!err)
		err = plumb_targets_count(targets);
	for (size_t i = 0; i < targets->n_files && !err; i++)
		err = add_first_build(i);
	builds.looked = plumb_now();
	for (size_t i = 0; i < targets->n_files && !err; i++) {
		if (!plumb_user_file_at(i)->of_host)
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
	int err = attach_build(i, what, sizeof(what));

	builds.list[i].gap = plumb_now() - (builds.unfinished ?: builds.looked);
	if (err)
		plumb_warn("%s was replaced, and the new file cannot be traced: %s%s", path,
			   plumb_errno_name(err), plumb_errno_hint(err));
	else
		plumb_info("%s was replaced: the new file is traced as well", path);
}

static void mark_deleted(size_t file, const struct stat *st)
{
	for (size_t i = 0; i < builds.n; i++)
		if (builds.list[i].file == file)
			builds.list[i].deleted = !plumb_build_is_of(&builds.list[i], st);
}

/*
 * Attaches to the file that the path of number FILE leads to now, if it is another one.  Returns
 * false if that is being written.
 */
static bool look_at_path(size_t file)
{
	const char *path = builds.targets->files[file].path;
	struct plumb_build *b;
	struct stat st;
	int fd = plumb_user_file_reopen(plumb_user_file_at(file), &st);

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
	for (size_t i = 0; i < builds.n; i++)
		if (builds.list[i].functions.n && !builds.list[i].since.tv_sec)
			attach_later(i, path);
	return true;
}

static void detach_build(struct plumb_build *b)
{
	const struct timespec since = plumb_build_changed_at(b, builds.looked);

	plumb_probe_detach_some(builds.probes, b->first_probe, b->probes);
	clock_gettime(CLOCK_REALTIME, &b->until);
	close(b->fd);
	b->fd = -1;
	plumb_build_tell_change(b, &since);
}

static void look_again(void)
{
	const uint64_t now = plumb_now();
	bool finished = true;

	for (size_t i = 0; i < builds.n; i++)
		if (builds.list[i].fd >= 0 && builds.list[i].functions.n &&
		    plumb_build_is_changed(&builds.list[i]))
			detach_build(&builds.list[i]);
	for (size_t i = 0; i < builds.targets->n_files; i++)
		finished &= look_at_path(i);
	builds.unfinished = finished ? 0 : builds.unfinished ?: builds.looked;
	builds.looked = now;
}

static uint64_t tick(uint64_t elapsed)
{
	if (!builds.n)
		return 0;
	if (plumb_builds_take_events() || plumb_now() - builds.looked >= PLUMB_SECOND / 4)
		look_again();
	if (elapsed) /* those of processes that are gone make room for others */
		plumb_states_settle(builds.bpf);
	return elapsed + PLUMB_SECOND / 4;
}

const struct plumb_traced_files plumb_builds = {
	.tick = tick,
	.fd = plumb_builds_fd,
	.footer = plumb_builds_print,
	.report_json = plumb_builds_add_json,
};

/* --- for reports --- */

const struct plumb_bpf *plumb_builds_bpf(void)
{
	return builds.bpf;
}

const struct plumb_probes *plumb_builds_probes(void)
{
	return builds.probes;
}

const struct plumb_build *plumb_build_at(size_t i)
{
	return i < builds.n ? &builds.list[i] : NULL;
}

const char *plumb_build_path(const struct plumb_build *b)
{
	return builds.targets->files[b->file].path;
}
