// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbols.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <plumb/bpf/stack/stacks.h>
#include <plumb/core/memory.h>
#include <plumb/core/privileges.h>
#include <plumb/kernel/thread.h>
#include <plumb/symbols/maps.h>

/* Maximum number of former mappings that are kept of a process. */
#define GONE 1024

#define VDSO_MAX (64 << 10)

static bool is_same(const struct plumb_code_map *a, const struct plumb_code_map *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->dev == b->dev && a->ino == b->ino && a->image == b->image;
}

/* Reading what a process has mapped. */
struct reading {
	struct plumb_symbolizer *symbolizer;
	pid_t pid;
	uint64_t image, not_image;
	int root;     /* of the process */
	bool by_path; /* the mapping is not there any more */
	const struct plumb_process *process;
	struct plumb_owners owners; /* by owners_of() */
	const struct plumb_code_maps *old;
	size_t at; /* in OLD */
	struct plumb_code_maps *now;
	struct plumb_vma below; /* the last area of a file; inode 0: none yet */
	size_t above;           /* in NOW: what follows it */
};

/* If the process has ended, root is the only one. */
static const struct plumb_owners *owners_of(struct reading *r)
{
	if (!r->owners.n)
		plumb_owners_of(r->pid, &r->owners);
	return &r->owners;
}

/* --- the file of a mapping --- */

static struct plumb_symfile *open_file(struct reading *r, const struct plumb_vma *vma)
{
	struct plumb_symbolizer *s = r->symbolizer;
	char link[PLUMB_MAP_FILE], why[PLUMB_WHY];
	struct plumb_symfile *file;
	int fd = r->by_path ? -ESRCH
			    : plumb_open_here(plumb_map_file(link, r->pid, vma->start, vma->end));
	const int err = fd;
	struct stat st;

	/* Without the capability to open that link, use the path. */
	if (fd < 0 && !vma->is_deleted)
		fd = plumb_open_inode_in_root(r->root, vma->path, vma->inode);
	if (fd < 0 && (file = plumb_symfile_of_build(s, vma, r->root)))
		return file;
	if (fd == -EACCES || fd == -EPERM)
		plumb_tell_lack(PLUMB_CAP(DAC_READ_SEARCH), "symbols of other users' files");
	if (fd < 0) {
		plumb_symbolizer_unread(s, vma->path, strerror(-err));
		return NULL;
	}
	if (fstat(fd, &st) || !plumb_owners_have(owners_of(r), st.st_uid)) {
		if (r->owners.pid)
			plumb_symbolizer_foreign(
				s, vma->path,
				plumb_owner_text(r->pid, st.st_uid, why, sizeof(why)));
		close(fd);
		return NULL;
	}
	return plumb_symfile_get(s, fd, vma->path, r->root);
}

/* --- the vdso, which is in memory only --- */

static struct plumb_symfile *read_vdso(struct plumb_symbolizer *s, pid_t pid, uint64_t start,
				       size_t size)
{
	char path[32], *image;
	int fd;

	if (size > VDSO_MAX)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	image = fd < 0 ? NULL : malloc(size);
	if (image && pread(fd, image, size, start) != (ssize_t)size) {
		free(image);
		image = NULL;
	}
	if (fd >= 0)
		close(fd);
	return image ? plumb_symfile_of_image(s, image, size) : NULL;
}

/*
 * All 64-bit processes have the same vdso as the tool.  That of 32-bit processes is below 4 GiB,
 * and is read from the process.
 */
static struct plumb_symfile *find_vdso(struct plumb_symbolizer *s, pid_t pid,
				       const struct plumb_code_map *m)
{
	const Elf64_Ehdr *ours = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (m->start >> 32 == 0)
		return read_vdso(s, pid, m->start, m->end - m->start);
	if (!s->vdso && ours)
		s->vdso = read_vdso(s, getpid(), (uintptr_t)ours,
				    ours->e_shoff + ours->e_shnum * ours->e_shentsize);
	return s->vdso;
}

/* --- /proc/PID/maps --- */

/* Fills in the file and module of mapping M, from VMA or from BEFORE, the mapping before it. */
static void describe(struct reading *r, struct plumb_code_map *m,
		     const struct plumb_code_map *before, const struct plumb_vma *vma)
{
	struct plumb_symbolizer *s = r->symbolizer;
	const char *path = vma->path;

	if (before && m->ino && before->ino == m->ino && before->dev == m->dev) {
		m->file = before->file;
		m->module = before->module;
		m->may_be_jit = before->may_be_jit;
	} else if (*path == '/' && m->ino) {
		m->file = open_file(r, vma);
		m->module = plumb_symbolizer_string(s, strrchr(path, '/') + 1);
		m->may_be_jit = m->file && !m->file->n_segments; /* not ELF, such as a memfd */
	} else if (!strcmp(path, "[vdso]")) {
		m->file = find_vdso(s, r->pid, m);
		m->module = "[vdso]";
	} else {
		/*
		 * "[heap]", "[vsyscall]"; names that the process gave ("[anon:NAME]") are not
		 * modules.
		 */
		m->module = *path == '[' && strncmp(path, "[anon", 5)
				    ? plumb_symbolizer_string(s, path)
				    : "[anon]";
		m->may_be_jit = strcmp(path, "[vsyscall]") && strcmp(path, "[uprobes]");
	}
}

/*
 * A program may copy its code to memory of no file, at the same addresses, for huge pages.  That is
 * known by what it left of the file below and above.
 */
static void find_copies(struct reading *r, const struct plumb_vma *above)
{
	const struct plumb_vma *below = &r->below;
	struct plumb_symfile *file = NULL;
	struct plumb_code_map *m;

	if (below->inode != above->inode || below->device != above->device ||
	    above->offset <= below->offset || *above->path != '/')
		return;
	for (m = r->now->all + r->above; m < r->now->all + r->now->n; m++) {
		if (!m->may_be_jit || (!file && !(file = open_file(r, above))) ||
		    !plumb_symfile_lies_around(file, below, above, m->start, m->end, &m->offset))
			continue;
		m->file = file;
		m->ino = 0; /* what follows is not the same file */
		m->module = plumb_symbolizer_string(r->symbolizer, strrchr(above->path, '/') + 1);
		m->may_be_jit = false;
	}
}

/* Appends a current mapping; what is unchanged is copied from the old one. */
static void read_code_map(struct reading *r, const struct plumb_vma *vma)
{
	struct plumb_code_map m = {.start = vma->start,
				   .end = vma->end,
				   .offset = vma->offset,
				   .dev = vma->device,
				   .ino = vma->inode,
				   .image = r->image,
				   .not_image = r->not_image};
	const struct plumb_code_maps *old = r->old;
	struct plumb_code_maps *now = r->now;

	while (r->at < old->n && old->all[r->at].start < m.start)
		r->at++;
	if (r->at < old->n && is_same(&old->all[r->at], &m))
		m = old->all[r->at];
	else
		describe(r, &m, now->n ? &now->all[now->n - 1] : NULL, vma);
	*plumb_append(now->all, now->n) = m;
}

static int read_map(void *context, struct plumb_vma *vma)
{
	struct reading *r = context;

	if (vma->is_code)
		read_code_map(r, vma);
	if (!vma->inode || (vma->is_code && r->now->all[r->now->n - 1].may_be_jit))
		return 0;
	find_copies(r, vma);
	r->below = *vma;
	r->above = r->now->n;
	return 0;
}

/* Appends the mappings that are in OLD but not in NOW to GONE. */
static void retire(struct plumb_code_maps *gone, const struct plumb_code_maps *old,
		   const struct plumb_code_maps *now)
{
	size_t k = 0;

	for (size_t i = 0; i < old->n; i++) {
		while (k < now->n && now->all[k].start < old->all[i].start)
			k++;
		if (k < now->n && is_same(&now->all[k], &old->all[i]))
			continue;
		if (gone->n == GONE)
			memmove(gone->all, gone->all + 1, --gone->n * sizeof(*gone->all));
		*plumb_append(gone->all, gone->n) = old->all[i];
	}
}

/* Fields 27, 28 and 47 of /proc/PID/stat. */
uint64_t plumb_process_image(pid_t pid)
{
	uint64_t end_code = 0, stack = 0, brk = 0, n = 1;
	char text[1024], *rest;

	if (plumb_thread_read(pid, pid, "stat", text, sizeof(text)) || !(rest = strrchr(text, ')')))
		return 0;
	/* Field 2, the name, is behind. */
	while ((rest = strchr(rest, ' ')) && ++n < 46) {
		rest++;
		if (n == 26)
			end_code = strtoull(rest, NULL, 10);
		else if (n == 27)
			stack = strtoull(rest, NULL, 10);
	}
	brk = rest ? strtoull(rest, NULL, 10) : 0;
	return stack ? plumb_stack_image(stack, end_code, brk) : 0;
}

static int open_root(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool has_map(const struct plumb_code_maps *m, const struct plumb_vma *vma)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->all[i].start == vma->start && m->all[i].end == vma->end &&
		    m->all[i].ino == vma->inode && m->all[i].offset == vma->offset)
			return true;
	return false;
}

static int recall_map(void *context, struct plumb_vma *vma)
{
	struct reading *r = context;

	return vma->is_code && !has_map(r->now, vma) && !has_map(&r->process->now, vma) &&
			       !has_map(&r->process->gone, vma)
		       ? read_map(r, vma)
		       : 0;
}

/*
 * What the process had mapped meanwhile.  Of one that has ended, of whichever program it executed,
 * by paths as of the process that forked it.  IMAGE: what it executes; 0: it has ended.
 */
static void recall(struct plumb_symbolizer *s, struct plumb_process *p, uint64_t image)
{
	const struct plumb_code_maps none = {};
	struct plumb_code_maps had = {};
	struct reading r = {s,           .image = image,  .old = &none,
			    .now = &had, .by_path = true, .process = p};

	s->counts.lost += plumb_mapped_take(s->mapped);
	r.pid = image ? p->pid : plumb_mapped_parent(s->mapped, p->pid);
	r.root = r.pid ? open_root(r.pid) : -1;
	if (r.root < 0)
		r.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (image)
		plumb_mapped_of(s->mapped, p->pid, PLUMB_MAPPED_NOW, recall_map, &r);
	r.image = plumb_process_image(plumb_mapped_parent(s->mapped, p->pid));
	plumb_mapped_of(s->mapped, p->pid, PLUMB_MAPPED_INHERITED, recall_map, &r);
	r.not_image = r.image;
	r.image = 0; /* it is not known */
	plumb_mapped_of(s->mapped, p->pid, PLUMB_MAPPED_EXECUTED, recall_map, &r);
	retire(&p->gone, &had, &none);
	free(had.all);
	close(r.root);
}

int plumb_process_note(struct plumb_symbolizer *s, struct plumb_process *p)
{
	struct plumb_code_maps now = {};
	struct reading r = {s, p->pid, plumb_process_image(p->pid), .old = &p->now, .now = &now};
	int root, err;

	if (plumb_pids_are_foreign()) /* it would be another process */
		return -ESRCH;
	r.root = root = open_root(p->pid);
	err = plumb_maps_of(p->pid, read_map, &r);
	if (err == -EACCES || err == -EPERM)
		plumb_tell_lack(PLUMB_CAP(SYS_PTRACE), "names of user stacks of other processes");
	if (!err && plumb_process_image(p->pid) != r.image)
		err = -EAGAIN; /* it executes another program: the next stack asks again */
	if (!err) {
		retire(&p->gone, &p->now, &now);
		free(p->now.all);
		p->now = now;
	} else
		free(now.all);
	if (s->mapped)
		recall(s, p, err || !now.n ? 0 : r.image);
	if (!err && plumb_process_has_jit(p))
		s->counts.bad_lines += plumb_perfmap_update(s, p, root, owners_of(&r));
	if (root >= 0)
		close(root);
	return err;
}

bool plumb_process_look_again(struct plumb_symbolizer *s, struct plumb_process *p)
{
	struct plumb_owners owners = {};
	int root = open_root(p->pid);

	if (root < 0)
		return false;
	plumb_owners_of(p->pid, &owners);
	s->counts.bad_lines += plumb_perfmap_update(s, p, root, &owners);
	close(root);
	return true;
}
