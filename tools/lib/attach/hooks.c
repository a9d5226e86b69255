/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "probe.h"

#include <errno.h>
#include <linux/bpf.h>
#include <plumb/attach/allowed.h>
#include <plumb/attach/hooks.h>
#include <plumb/base/reasons.h>
#include <plumb/attach/self-test.h>
#include <plumb/base/token.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

/* A function that the kernel has to test fentry; nothing else calls it. */
#define FUNCTION "bpf_fentry_test1"

static const struct {
	const char *name;
	enum bpf_prog_type program;
} hooks[] = {
	[PLUMB_RAW_TRACEPOINT] = {"raw_tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT},
	[PLUMB_TRACEPOINT] = {"tracepoint", BPF_PROG_TYPE_TRACEPOINT},
	[PLUMB_FENTRY] = {"fentry", BPF_PROG_TYPE_TRACING},
	[PLUMB_FEXIT] = {"fexit", BPF_PROG_TYPE_TRACING},
	[PLUMB_FSESSION] = {"fsession", BPF_PROG_TYPE_TRACING},
	[PLUMB_KPROBE] = {"kprobe", BPF_PROG_TYPE_KPROBE},
	[PLUMB_KPROBE_MULTI] = {"kprobe.multi", BPF_PROG_TYPE_KPROBE},
	[PLUMB_KPROBE_SESSION] = {"kprobe.session", BPF_PROG_TYPE_KPROBE},
	[PLUMB_UPROBE] = {"uprobe", BPF_PROG_TYPE_KPROBE},
};

const char *plumb_hook_name(enum plumb_hook hook)
{
	return hooks[hook].name;
}

/* --- events to attach to: a descriptor, or -errno --- */

static int open_tracepoint(void)
{
	struct plumb_tracepoints found;
	int err = plumb_self_test_find_tracepoint(&found);

	if (err)
		return err;
	err = plumb_probe_open_tracepoint(found.list[0].id);
	plumb_tracepoints_free(&found);
	return err;
}

static int open_uprobe(void)
{
	struct plumb_userfuncs found;
	int err = plumb_self_test_find_userfunc(plumb_self_test_call, &found);

	if (err)
		return err;
	err = plumb_probe_open_pmu("uprobe", false, (uintptr_t)found.path, found.list[0].offset);
	plumb_userfuncs_free(&found);
	return err;
}

/* --- */

static int load(enum plumb_hook hook)
{
	static const struct bpf_insn returns_0[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = plumb_hook_attach_type(hook));
	int fd;

	if (plumb_hook_is_fentry(hook)) {
		fd = libbpf_find_vmlinux_btf_id(FUNCTION, opts.expected_attach_type);
		if (fd < 0)
			return access("/sys/kernel/btf/vmlinux", R_OK) ? -ENODATA : fd;
		opts.attach_btf_id = fd;
	}
	fd = plumb_prog_load(hooks[hook].program, "plumb_self_test", returns_0,
			     sizeof(returns_0) / sizeof(returns_0[0]), &opts);
	return fd < 0 ? -errno : fd;
}

/* libbpf 1.1 does not support sessions. */
static int link_many(int program, enum plumb_hook hook, const char *function)
{
	union bpf_attr attr = {.link_create.prog_fd = program};
	int fd;

	attr.link_create.attach_type = plumb_hook_attach_type(hook);
	attr.link_create.kprobe_multi.syms = (uintptr_t)&function;
	attr.link_create.kprobe_multi.cnt = 1;
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

/* The tracepoint's name is the same in both forms. */
static int allowed(enum plumb_hook hook)
{
	static struct plumb_tracepoint t = {.category = "task", .name = "task_rename"};
	const struct plumb_tracepoints one = {.list = &t, .n = 1};
	struct plumb_userfuncs found;
	char what[256];
	int err;

	switch (hook) {
	case PLUMB_RAW_TRACEPOINT:
	case PLUMB_TRACEPOINT:
		return plumb_allowed_tracepoints(&one, what, sizeof(what));
	case PLUMB_UPROBE:
		err = plumb_self_test_find_userfunc(plumb_self_test_call, &found);
		if (err)
			return err;
		err = plumb_allowed_userfuncs(&found, what, sizeof(what));
		plumb_userfuncs_free(&found);
		return err;
	default:
		return plumb_allowed_name("k", FUNCTION, what, sizeof(what));
	}
}

static int attach(enum plumb_hook hook, struct plumb_probe *probe)
{
	const char *raw = hook == PLUMB_RAW_TRACEPOINT ? "task_rename" : NULL;

	switch (hook) {
	case PLUMB_RAW_TRACEPOINT:
	case PLUMB_FENTRY:
	case PLUMB_FEXIT:
	case PLUMB_FSESSION:
		probe->link = bpf_raw_tracepoint_open(raw, probe->program);
		return probe->link < 0 ? -errno : 0;
	case PLUMB_KPROBE_MULTI:
	case PLUMB_KPROBE_SESSION:
		probe->link = link_many(probe->program, hook, FUNCTION);
		return probe->link < 0 ? probe->link : 0;
	case PLUMB_TRACEPOINT:
		probe->event = open_tracepoint();
		break;
	case PLUMB_UPROBE:
		probe->event = open_uprobe();
		break;
	default:
		probe->event = plumb_probe_open_pmu("kprobe", false, (uintptr_t)FUNCTION, 0);
	}
	return probe->event < 0 ? probe->event : plumb_probe_attach_event(probe, 0);
}

static void explain(enum plumb_hook hook, int err, char *why, size_t size)
{
	const char *name = plumb_errno_name(err);

	if (err == -ENODATA)
		snprintf(why, size, "%s, no BTF (/sys/kernel/btf/vmlinux)", name);
	else if (err == -ENODEV && hook == PLUMB_UPROBE)
		snprintf(why, size, "%s, CONFIG_UPROBES is off", name);
	else
		snprintf(why, size, "%s%s", name, plumb_errno_hint(err));
}

/*
 * The error of a link to a function that does not exist: a kernel without such links does not look
 * for the function.
 */
static int many_missing(enum plumb_hook hook)
{
	int program = load(hook), link;

	if (program < 0)
		return program;
	link = link_many(program, hook, "");
	close(program);
	if (link >= 0)
		close(link);
	return link == -EOPNOTSUPP || link == -EPERM ? link : 0;
}

int plumb_hook_missing(enum plumb_hook hook, char *why, size_t size)
{
	int err = 0;

	switch (hook) {
	case PLUMB_KPROBE:
	case PLUMB_KRETPROBE:
		err = plumb_probe_has_pmu("kprobe") ? 0 : -ENODEV;
		break;
	case PLUMB_KPROBE_MULTI:
	case PLUMB_KRETPROBE_MULTI:
		err = many_missing(PLUMB_KPROBE_MULTI);
		break;
	case PLUMB_KPROBE_SESSION:
		err = many_missing(PLUMB_KPROBE_SESSION);
		break;
	default:
		break;
	}
	if (err)
		explain(hook, err, why, size);
	return err;
}

int plumb_hook_try(enum plumb_hook hook, char *why, size_t size)
{
	struct plumb_probe probe = {.program = load(hook), .event = -1, .link = -1};
	int err = probe.program < 0 ? probe.program : allowed(hook) ?: attach(hook, &probe);

	plumb_probe_drop(&probe);
	*why = 0;
	if (err)
		explain(hook, err, why, size);
	return err;
}

int plumb_hook_set_function(struct bpf_program *p, const char *function)
{
	char what[256];
	int err = plumb_allowed_name("k", function, what, sizeof(what));

	return err ?: bpf_program__set_attach_target(p, 0, function);
}

bool plumb_hook_if_possible(struct bpf_program *p, const char *function)
{
	char why[192];
	bool possible = function && !plumb_hook_try(PLUMB_FENTRY, why, sizeof(why)) &&
			!plumb_hook_set_function(p, function);

	if (!possible)
		bpf_program__set_autoload(p, false);
	return possible;
}
