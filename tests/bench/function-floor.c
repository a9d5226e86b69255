/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * function-floor HOOK STEP FUNCTION: attach programs that do nothing beyond STEP
 * to FUNCTION, say `tracing …`, stay until SIGTERM, and print how many calls they
 * saw if the step is one that counts.
 *
 * For the hooks of user functions FUNCTION is FILE:OFFSET[,OFFSET…][@PID]: each function by
 * its offset in the file, in hexadecimal, and the process, or all.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "function-floor.h"
#include "function-floor.skel.h"
#include "function-floor-session.skel.h"
#include "function-floor-session-old.skel.h"

/* Newer than the headers of the oldest build machine. */
#define TRACE_UPROBE_MULTI   48
#define TRACE_KPROBE_SESSION 56
#define TRACE_UPROBE_SESSION 57
#define TRACE_FSESSION       58

struct hook {
	const char *name;
	const char *programs[3]; /* the end of a call first */
	struct bpf_link *(*attach)(struct bpf_program *prog, const char *function);
	int type; /* 0: what libbpf takes it for */
};

static struct bpf_link *attach_trampoline(struct bpf_program *prog, const char *function)
{
	(void)function; /* it was needed for loading */
	return bpf_program__attach(prog);
}

static struct bpf_link *attach_kprobe(struct bpf_program *prog, const char *function)
{
	return bpf_program__attach_kprobe(prog, strstr(bpf_program__name(prog), "leave"), function);
}

static struct bpf_link *attach_multi(struct bpf_program *prog, const char *function)
{
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .syms = &function, .cnt = 1,
		    .retprobe = strstr(bpf_program__name(prog), "leave"));

	return bpf_program__attach_kprobe_multi_opts(prog, NULL, &opts);
}

/* libbpf 1.1 does not know this link; it lasts until the process ends. */
static struct bpf_link *attach_session(struct bpf_program *prog, const char *function)
{
	union bpf_attr attr = {};

	attr.link_create.prog_fd = bpf_program__fd(prog);
	attr.link_create.attach_type = TRACE_KPROBE_SESSION;
	attr.link_create.kprobe_multi.cnt = 1;
	attr.link_create.kprobe_multi.syms = (__u64)&function;
	return syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0 ? NULL : (void *)prog;
}

#define MAX_PLACES 2048

/* Where user functions are. */
struct places {
	char file[4096];
	unsigned long offsets[MAX_PLACES];
	__u32 n;
	int pid; /* 0: all */
};

/* NULL and errno if the text is none. */
static const struct places *find_places(const char *function)
{
	static struct places places;
	const char *at = strrchr(function, ':');
	char *end;

	errno = EINVAL;
	if (!at || (size_t)(at - function) >= sizeof(places.file))
		return NULL;
	memset(&places, 0, sizeof(places));
	memcpy(places.file, function, at - function);
	do {
		if (places.n == MAX_PLACES)
			return NULL;
		places.offsets[places.n++] = strtoul(at + 1, &end, 16);
		at = end;
	} while (*at == ',');
	if (*at == '@')
		places.pid = strtol(at + 1, &end, 10);
	return *end ? NULL : &places;
}

static struct bpf_link *attach_uprobe(struct bpf_program *prog, const char *function)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = strstr(bpf_program__name(prog), "leave"));
	const struct places *places = find_places(function);
	struct bpf_link *link = NULL;
	__u32 i;

	for (i = 0; places && i < places->n; i++) {
		link = bpf_program__attach_uprobe_opts(prog, places->pid ?: -1, places->file,
						       places->offsets[i], &opts);
		if (!link)
			break;
	}
	return link;
}

/* libbpf 1.1 does not know this link; it lasts until the process ends. */
static struct bpf_link *attach_umulti(struct bpf_program *prog, const char *function)
{
	const struct places *places = find_places(function);
	struct {
		__u32 program, target, attach_type, flags;
		__u64 path, offsets, counters, cookies;
		__u32 n, probe_flags, pid;
	} attr = {
		.program = bpf_program__fd(prog),
		.attach_type = bpf_program__expected_attach_type(prog),
		.probe_flags = strstr(bpf_program__name(prog), "leave") ? 1 : 0,
	};

	if (!places)
		return NULL;
	attr.path = (__u64)places->file;
	attr.offsets = (__u64)places->offsets;
	attr.n = places->n;
	attr.pid = places->pid;
	return syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0 ? NULL : (void *)prog;
}

static const struct hook hooks[] = {
	{"fsession", {"fsession"}, attach_trampoline, TRACE_FSESSION},
	{"fentry", {"fentry_leave", "fentry_enter"}, attach_trampoline, 0},
	{"kprobe.session", {"ksession"}, attach_session, TRACE_KPROBE_SESSION},
	{"kprobe.multi", {"multi_leave", "multi_enter"}, attach_multi, 0},
	{"kprobe", {"kprobe_leave", "kprobe_enter"}, attach_kprobe, 0},
	{"uprobe", {"uprobe_leave", "uprobe_enter"}, attach_uprobe, 0},
	{"uprobe-entry", {"uprobe_enter"}, attach_uprobe, 0},
	{"uprobe.multi", {"umulti_leave", "umulti_enter"}, attach_umulti, TRACE_UPROBE_MULTI},
	{"uprobe.multi-entry", {"umulti_enter"}, attach_umulti, TRACE_UPROBE_MULTI},
	{"uprobe.session", {"usession"}, attach_umulti, TRACE_UPROBE_SESSION},
};

static const char *const steps[FLOOR_STEPS] = {
	[FLOOR_EMPTY] = "empty", [FLOOR_CLOCK] = "clock",   [FLOOR_START] = "start",
	[FLOOR_WHO] = "who",     [FLOOR_TOTALS] = "totals", [FLOOR_HIST] = "hist",
};

static void configure(struct bpf_object *obj, __u32 step)
{
	struct bpf_map *map = NULL;
	size_t size;

	while ((map = bpf_object__next_map(obj, map)))
		if (bpf_map__type(map) == BPF_MAP_TYPE_ARRAY && !bpf_map__is_internal(map))
			bpf_map__set_max_entries(map, libbpf_num_possible_cpus());
	map = bpf_object__find_map_by_name(obj, ".rodata");
	*(__u32 *)bpf_map__initial_value(map, &size) = step;
}

/* An object with programs of this hook, loaded; NULL and errno if it cannot be. */
static struct bpf_object *load(const void *elf, size_t size, const struct hook *hook, __u32 step,
			       const char *function)
{
	struct bpf_object *obj = bpf_object__open_mem(elf, size, NULL);
	struct bpf_program *prog;
	int i, err = 0;

	if (!obj)
		return NULL;
	configure(obj, step);
	for (i = 0; hook->programs[i] && !err; i++) {
		prog = bpf_object__find_program_by_name(obj, hook->programs[i]);
		bpf_program__set_autoload(prog, true);
		if (hook->type)
			bpf_program__set_expected_attach_type(prog, hook->type);
		if (hook->attach == attach_trampoline)
			err = bpf_program__set_attach_target(prog, 0, function);
	}
	if (!err)
		err = bpf_object__load(obj);
	if (!err)
		return obj;
	bpf_object__close(obj);
	errno = -err;
	return NULL;
}

static struct bpf_object *load_any(const struct hook *hook, __u32 step, const char *function)
{
	struct bpf_object *obj;
	const void *elf;
	size_t size;

	if (!hook->type || hook->type == TRACE_UPROBE_MULTI) {
		elf = function_floor_bpf__elf_bytes(&size);
		return load(elf, size, hook, step, function);
	}
	elf = function_floor_session_bpf__elf_bytes(&size);
	obj = load(elf, size, hook, step, function);
	if (obj)
		return obj;
	elf = function_floor_session_old_bpf__elf_bytes(&size);
	return load(elf, size, hook, step, function);
}

static unsigned long counted(struct bpf_object *obj)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "totals");
	unsigned long count = 0;
	struct floor_seen t;
	__u32 i;

	for (i = 0; i < bpf_map__max_entries(map); i++)
		if (!bpf_map__lookup_elem(map, &i, sizeof(i), &t, sizeof(t), 0))
			count += t.count;
	return count;
}

static const struct hook *find_hook(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(hooks[i].name, name))
			return &hooks[i];
	return NULL;
}

static int find_step(const char *name)
{
	int i;

	for (i = 0; i < FLOOR_STEPS; i++)
		if (!strcmp(steps[i], name))
			return i;
	return -1;
}

int main(int argc, char **argv)
{
	const struct hook *hook = argc == 4 ? find_hook(argv[1]) : NULL;
	int i, sig, step = argc == 4 ? find_step(argv[2]) : -1;
	struct bpf_program *prog;
	struct bpf_object *obj;
	sigset_t signals;

	if (!hook || step < 0) {
		fprintf(stderr, "usage: function-floor HOOK STEP FUNCTION\n");
		return 2;
	}

	/* Blocked from the start: sigwait() below takes it whenever it comes. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	obj = load_any(hook, step, argv[3]);
	for (i = 0; obj && hook->programs[i]; i++) {
		prog = bpf_object__find_program_by_name(obj, hook->programs[i]);
		if (!hook->attach(prog, argv[3]))
			break;
	}
	if (!obj || hook->programs[i]) {
		fprintf(stderr, "function-floor: %s: %s\n", hook->name, strerror(errno));
		return 1;
	}
	fprintf(stderr, "function-floor: tracing … %s %s\n", hook->name, argv[2]);
	sigwait(&signals, &sig);
	printf("%lu\n", counted(obj));
	return 0;
}
