/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fold.h"
#include "probe.h"
#include "prune.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <plumb/function.h>
#include <plumb/kernel.h>
#include <plumb/log.h>
#include <plumb/parse.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

/* include/uapi/linux/bpf.h: attach types, of which older headers lack some. */
enum {
	KPROBE_MULTI = 42,
	UPROBE_MULTI = 48,
	KPROBE_SESSION = 56,
	FSESSION = 58,
	FENTRY_MULTI = 59,
	FSESSION_MULTI = 61
};

/* What BPF_LINK_CREATE takes for many functions at once; the same in all kernels that have it. */
struct link_create {
	__u32 program, target, attach_type, flags;
	union {
		struct {
			__u32 flags, n;
			__u64 symbols, addresses, cookies;
		} kprobe;
		struct {
			__u64 ids, cookies;
			__u32 n;
		} tracing;
		struct {
			__u64 path, offsets, counters, cookies;
			__u32 n, flags, pid;
		} uprobe;
	};
};

/* As much of struct bpf_link_info as tells misses. */
struct link_info {
	__u32 type, id, program, pad;
	union {
		struct {
			__u32 kind, pad;
			__u64 name;
			__u32 name_length, offset;
			__u64 address, missed;
		} perf_event;
		struct {
			__u64 addresses;
			__u32 n, flags;
			__u64 missed;
		} kprobe_multi;
		__u64 rest[16];
	};
};

bool plumb_hook_is_multi(enum plumb_hook hook)
{
	return hook >= PLUMB_FENTRY_MULTI;
}

bool plumb_hook_is_fentry(enum plumb_hook hook)
{
	return hook == PLUMB_FENTRY || hook == PLUMB_FEXIT || hook == PLUMB_FSESSION ||
	       hook == PLUMB_FENTRY_MULTI || hook == PLUMB_FSESSION_MULTI;
}

static int attach_type(enum plumb_hook hook)
{
	static const int types[] = {
		[PLUMB_FENTRY] = BPF_TRACE_FENTRY,
		[PLUMB_FEXIT] = BPF_TRACE_FEXIT,
		[PLUMB_FSESSION] = FSESSION,
		[PLUMB_FENTRY_MULTI] = FENTRY_MULTI,
		[PLUMB_FSESSION_MULTI] = FSESSION_MULTI,
		[PLUMB_KPROBE_MULTI] = KPROBE_MULTI,
		[PLUMB_KRETPROBE_MULTI] = KPROBE_MULTI,
		[PLUMB_KPROBE_SESSION] = KPROBE_SESSION,
		[PLUMB_UPROBE_MULTI] = UPROBE_MULTI,
	};

	return hook < sizeof(types) / sizeof(types[0]) ? types[hook] : 0;
}

const char *plumb_probe_name(const struct plumb_functions *f, size_t i, char *text, size_t size)
{
	const struct plumb_function *one = &f->all[i];

	snprintf(text, size, "%s%s%s", one->module ?: "", one->module ? ":" : "", one->name);
	return text;
}

uint64_t plumb_probe_target(const struct plumb_functions *f, size_t i)
{
	const struct plumb_function *one = &f->all[i];
	const struct btf_type *t;
	static const int bits[] = {
		[PLUMB_RESULT_INT] = 32, [PLUMB_RESULT_LONG] = 64, [PLUMB_RESULT_POINTER] = 64};
	uint32_t n_args = PLUMB_NO_RESULT;

	if (one->btf_id) {
		t = btf__type_by_id(one->btf, btf__type_by_id(one->btf, one->btf_id)->type);
		n_args = btf_vlen(t);
		if (n_args && !btf_params(t)[n_args - 1].type) /* "..." */
			n_args--;
		if (!t->type) /* void */
			n_args = PLUMB_NO_RESULT;
		else if (one->result == PLUMB_RESULT_POINTER)
			n_args |= PLUMB_POINTER;
	}
	return PLUMB_TARGET(i, bits[one->result], n_args);
}

int plumb_probe_prepare(struct bpf_program *p, enum plumb_hook hook,
			const struct plumb_functions *f)
{
	const struct plumb_function *one;
	const char *pattern = NULL;
	int type = attach_type(hook);

	if (type)
		bpf_program__set_expected_attach_type(p, type);
	/* libbpf 1.1 does not know these sections. */
	if (hook == PLUMB_UPROBE_MULTI)
		bpf_program__set_type(p, BPF_PROG_TYPE_KPROBE);
	if (!plumb_hook_is_fentry(hook))
		return 0;
	/* A program for many must name no function. */
	if (plumb_hook_is_multi(hook)) {
		bpf_program__set_type(p, BPF_PROG_TYPE_TRACING);
		return 0;
	}
	for (size_t i = 0; !pattern && i < f->n; i++) {
		one = &f->all[i];
		if (one->btf_id) /* BTF knows foo.llvm.1 as foo */
			pattern = btf__name_by_offset(
				one->btf, btf__type_by_id(one->btf, one->btf_id)->name_off);
	}
	return pattern ? bpf_program__set_attach_target(p, 0, pattern) : -ENODATA;
}

/* The N instructions of the loaded program P, with its target and its configuration in them. */
static struct bpf_insn *copy_insns(const struct bpf_object *object, const struct bpf_program *p,
				   uint64_t target, size_t *n_insns)
{
	size_t n = bpf_program__insn_cnt(p), size;
	struct bpf_insn *insns = malloc(n * sizeof(*insns));
	const struct bpf_map *m;
	const void *value;

	if (!insns)
		return NULL;
	memcpy(insns, bpf_program__insns(p), n * sizeof(*insns));
	for (size_t i = 0; i + 1 < n; i++)
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && !insns[i].src_reg &&
		    ((uint64_t)(uint32_t)insns[i + 1].imm << 32 | (uint32_t)insns[i].imm) ==
			    PLUMB_TARGET_UNSET) {
			insns[i].imm = target;
			insns[i + 1].imm = target >> 32;
		}
	bpf_object__for_each_map(m, object)
	{
		value = bpf_map__initial_value((struct bpf_map *)m, &size);
		if (strstr(bpf_map__name(m), ".rodata"))
			plumb_fold(insns, n, bpf_map__fd(m), value, size);
	}
	*n_insns = plumb_prune(insns, n);
	return insns;
}

int plumb_probe_copy(const struct bpf_object *object, const struct bpf_program *p,
		     enum plumb_hook hook, const struct plumb_function *function, uint64_t target)
{
	size_t n;
	struct bpf_insn *insns = copy_insns(object, p, target, &n);
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type(hook));
	int fd;

	if (!insns)
		return -ENOMEM;
	if (plumb_hook_is_fentry(hook)) {
		opts.attach_btf_id = function->btf_id;
		opts.attach_btf_obj_fd = function->btf_fd;
	}
	fd = bpf_prog_load(bpf_program__type(p), bpf_program__name(p), "Dual BSD/GPL", insns, n,
			   &opts);
	if (fd < 0)
		fd = -errno;
	free(insns);
	return fd;
}

/* A number that the kernel has in a file of sysfs; -errno. */
static int read_number(const char *path, const char *format)
{
	FILE *f = fopen(path, "re");
	int number = -EINVAL;

	if (!f)
		return -errno;
	if (fscanf(f, format, &number) != 1)
		number = -EINVAL;
	fclose(f);
	return number;
}

int plumb_probe_open_event(const struct perf_event_attr *attr, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int plumb_probe_open_pmu(const char *pmu, bool at_return, uint64_t config1, uint64_t config2)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config1 = config1,
		.config2 = config2,
	};
	char path[128];
	int number;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	number = read_number(path, "%d");
	if (number < 0)
		return number == -ENOENT ? -ENODEV : number;
	attr.type = number;
	if (at_return) {
		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/retprobe",
			 pmu);
		number = read_number(path, "config:%d");
		if (number < 0)
			return number;
		attr.config = 1ULL << number;
	}
	return plumb_probe_open_event(&attr, 0);
}

static int open_kprobe(const struct plumb_function *function, bool at_return)
{
	/* By address, since a name can be that of several functions. */
	if (function->address)
		return plumb_probe_open_pmu("kprobe", at_return, 0, function->address);
	return plumb_probe_open_pmu("kprobe", at_return, (uintptr_t)function->name, 0);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int plumb_probe_attach_event(struct plumb_probe *probe)
{
	probe->link = bpf_link_create(probe->program, probe->event, BPF_PERF_EVENT, NULL);
	if (probe->link >= 0) {
		close_fd(&probe->event); /* the link holds it */
		return 0;
	}
	/* Before 5.15 there is no such link. */
	if (ioctl(probe->event, PERF_EVENT_IOC_SET_BPF, probe->program) ||
	    ioctl(probe->event, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return 0;
}

void plumb_probe_drop(struct plumb_probe *probe)
{
	close_fd(&probe->link);
	close_fd(&probe->event);
	close_fd(&probe->program);
}

int plumb_probe_add(struct plumb_probes *probes, const struct plumb_probe *probe)
{
	struct plumb_probe *list;

	/* Doubled whenever it is a power of two. */
	if (!(probes->n & (probes->n - 1))) {
		list = realloc(probes->list, (probes->n ? 2 * probes->n : 1) * sizeof(*list));
		if (!list)
			return -ENOMEM;
		probes->list = list;
	}
	probes->list[probes->n++] = *probe;
	return 0;
}

void plumb_probe_refuse(struct plumb_probes *probes, const char *name, int err)
{
	plumb_info("%s: not attached: %s", name, plumb_errno_name(err));
	probes->refused++;
	probes->refusal = err < 0 ? err : -err;
}

void plumb_probe_allow_files(void)
{
	struct rlimit limit = {1 << 20, 1 << 20};

	if (!setrlimit(RLIMIT_NOFILE, &limit) || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int attach_one(struct plumb_probes *probes, const struct bpf_object *object,
		      const struct plumb_aim *aim, const struct plumb_function *function,
		      uint64_t target)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(object, aim->program);
	enum plumb_hook hook = aim->hook;
	struct plumb_probe probe = {.event = -1, .link = -1};
	int err = 0;

	if (plumb_hook_is_fentry(hook) && !function->btf_id)
		return -ENODATA;
	if (plumb_hook_is_fentry(hook) && !strcmp(function->name, "bpf_get_smp_processor_id") &&
	    !plumb_fentry_is_guarded())
		return -EDEADLK; /* see guard.bpf.h */
	probe.program = plumb_probe_copy(object, p, hook, function, target);
	if (probe.program < 0)
		return probe.program;
	if (plumb_hook_is_fentry(hook)) {
		probe.link = bpf_raw_tracepoint_open(NULL, probe.program);
		err = probe.link < 0 ? -errno : 0;
	} else {
		probe.event = open_kprobe(function, hook == PLUMB_KRETPROBE);
		err = probe.event < 0 ? probe.event : plumb_probe_attach_event(&probe);
	}
	if (!err)
		err = plumb_probe_add(probes, &probe);
	if (err)
		plumb_probe_drop(&probe);
	return err;
}

/* Both ends or none, function by function. */
static int attach_each(struct plumb_probes *probes, const struct bpf_object *object,
		       const struct plumb_aim *aims, const struct plumb_functions *f, char *what,
		       size_t size)
{
	int err, last = -ENOENT;
	size_t before;

	for (size_t i = 0; i < f->n; i++) {
		before = probes->n;
		err = 0;
		for (const struct plumb_aim *a = aims; a->hook && !err; a++)
			err = attach_one(probes, object, a, &f->all[i], plumb_probe_target(f, i));
		if (!err)
			continue;
		while (probes->n > before)
			plumb_probe_drop(&probes->list[--probes->n]);
		plumb_probe_refuse(probes, plumb_probe_name(f, i, what, size), err);
		last = err;
	}
	return probes->n ? 0 : last;
}

int plumb_many_make(struct plumb_many *m, size_t n)
{
	m->addresses = calloc(n, sizeof(*m->addresses));
	m->cookies = calloc(n, sizeof(*m->cookies));
	m->ids = calloc(n, sizeof(*m->ids));
	return m->addresses && m->cookies && m->ids ? 0 : -ENOMEM;
}

void plumb_many_free(struct plumb_many *m)
{
	free(m->addresses);
	free(m->cookies);
	free(m->ids);
}

static int link_many(const struct plumb_many *m, size_t from, size_t to)
{
	struct link_create attr = {
		.program = m->program,
		.attach_type = attach_type(m->hook),
	};
	int fd;

	if (plumb_hook_is_fentry(m->hook)) {
		attr.tracing.n = to - from;
		attr.tracing.ids = (uintptr_t)(m->ids + from);
		attr.tracing.cookies = (uintptr_t)(m->cookies + from);
	} else if (m->hook == PLUMB_UPROBE_MULTI) {
		attr.uprobe.n = to - from;
		attr.uprobe.path = (uintptr_t)m->path;
		attr.uprobe.offsets = (uintptr_t)(m->addresses + from);
		attr.uprobe.cookies = (uintptr_t)(m->cookies + from);
	} else {
		attr.kprobe.n = to - from;
		attr.kprobe.flags =
			m->hook == PLUMB_KRETPROBE_MULTI ? BPF_F_KPROBE_MULTI_RETURN : 0;
		attr.kprobe.addresses = (uintptr_t)(m->addresses + from);
		attr.kprobe.cookies = (uintptr_t)(m->cookies + from);
	}
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

int plumb_probe_attach_many(struct plumb_probes *probes, const struct plumb_many *m, size_t from,
			    size_t to, char *what, size_t size)
{
	struct plumb_probe probe = {.program = -1, .event = -1, .link = link_many(m, from, to)};
	size_t middle = from + (to - from) / 2;
	int first, second;

	if (probe.link >= 0) {
		if (!plumb_probe_add(probes, &probe))
			return 0;
		plumb_probe_drop(&probe);
		return -ENOMEM;
	}
	m->name(m->what, PLUMB_TARGET_INDEX(m->cookies[from]), what, size);
	if (to - from == 1) {
		plumb_probe_refuse(probes, what, probe.link);
		return probe.link;
	}
	/* Not this kind of refusal. */
	if (probe.link == -EPERM || probe.link == -EOPNOTSUPP || probe.link == -ENOMEM)
		return probe.link;
	first = plumb_probe_attach_many(probes, m, from, middle, what, size);
	second = plumb_probe_attach_many(probes, m, middle, to, what, size);
	return first && second ? first : 0;
}

static const char *name_function(const void *functions, size_t i, char *text, size_t size)
{
	return plumb_probe_name(functions, i, text, size);
}

/* One program of fentry's kind takes functions of one BTF, the kernel's own. */
static bool can_be_one_of_many(const struct plumb_function *f, enum plumb_hook hook)
{
	return !plumb_hook_is_fentry(hook) || (f->btf_id && !f->btf_fd);
}

static int attach_at_once(struct plumb_probes *probes, const struct bpf_object *object,
			  const struct plumb_aim *aims, const struct plumb_functions *f, char *what,
			  size_t size)
{
	struct plumb_many m = {.what = f, .name = name_function};
	int err = plumb_many_make(&m, f->n);
	size_t n = 0;

	for (size_t i = 0; !err && i < f->n; i++) {
		if (!can_be_one_of_many(&f->all[i], aims->hook)) {
			plumb_probe_refuse(probes, plumb_probe_name(f, i, what, size), ENODATA);
			continue;
		}
		m.addresses[n] = f->all[i].address;
		m.cookies[n] = plumb_probe_target(f, i);
		m.ids[n++] = f->all[i].btf_id;
	}
	if (!err && !n)
		err = -ENODATA;
	for (const struct plumb_aim *a = aims; a->hook && !err; a++) {
		m.program = bpf_program__fd(bpf_object__find_program_by_name(object, a->program));
		m.hook = a->hook;
		err = plumb_probe_attach_many(probes, &m, 0, n, what, size);
	}
	plumb_many_free(&m);
	return err;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int plumb_probe_attach(struct plumb_probes *probes, const struct bpf_object *object,
		       const struct plumb_aim *aims, const struct plumb_functions *f, char *what,
		       size_t size)
{
	double start = seconds();
	int err;

	plumb_probe_allow_files();
	if (plumb_hook_is_multi(aims->hook))
		err = attach_at_once(probes, object, aims, f, what, size);
	else
		err = attach_each(probes, object, aims, f, what, size);
	plumb_info("%zu functions attached to in %.3f s", f->n - probes->refused,
		   seconds() - start);
	if (err)
		plumb_probe_close(probes);
	return err;
}

static bool link_missed(int link, uint64_t *missed)
{
	enum { KPROBE_MULTI_LINK = 8, PERF_EVENT_LINK = 7 }; /* enum bpf_link_type */
	struct link_info info = {};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(link, &info, &size))
		return false;
	if (info.type == KPROBE_MULTI_LINK)
		*missed += info.kprobe_multi.missed;
	else if (info.type == PERF_EVENT_LINK)
		*missed += info.perf_event.missed;
	return true;
}

bool plumb_program_missed(int program, uint64_t *missed)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	/* An older kernel fills in less (5.12 is the first to tell). */
	if (bpf_obj_get_info_by_fd(program, &info, &size) ||
	    size < offsetof(struct bpf_prog_info, recursion_misses) + sizeof(__u64))
		return false;
	*missed += info.recursion_misses;
	return true;
}

bool plumb_probe_missed(const struct plumb_probes *probes, uint64_t *missed)
{
	bool known = !probes->missed_unknown;

	*missed += probes->missed;
	for (size_t i = 0; i < probes->n; i++) {
		const struct plumb_probe *probe = &probes->list[i];

		if (probe->program >= 0 && !plumb_program_missed(probe->program, missed))
			known = false;
		if (probe->link >= 0 && !link_missed(probe->link, missed))
			known = false;
	}
	return known;
}

/* In the reverse order: a call that has begun may still end. */
void plumb_probe_detach(struct plumb_probes *probes)
{
	double start = seconds();
	size_t n = 0;

	for (size_t i = probes->n; i-- > 0;) {
		struct plumb_probe *probe = &probes->list[i];

		n += probe->link >= 0 || probe->event >= 0;
		if (probe->link >= 0 && !link_missed(probe->link, &probes->missed))
			probes->missed_unknown = true;
		close_fd(&probe->link);
		close_fd(&probe->event);
	}
	if (n)
		plumb_info("%zu probes detached in %.3f s", n, seconds() - start);
}

void plumb_probe_close(struct plumb_probes *probes)
{
	for (size_t i = 0; i < probes->n; i++)
		plumb_probe_drop(&probes->list[i]);
	free(probes->list);
	*probes = (struct plumb_probes){};
}
