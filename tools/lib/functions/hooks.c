/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/functions/probing.h>

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <plumb/core/reasons.h>
#include <plumb/functions/hooks.h>
#include <plumb/guard/allowed.h>
#include <plumb/kernel/token.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

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

int plumb_hook_load(enum plumb_hook hook)
{
	static const struct bpf_insn returns_0[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = plumb_hook_attach_type(hook));
	int fd;

	if (plumb_hook_is_fentry(hook)) {
		fd = libbpf_find_vmlinux_btf_id(PLUMB_HOOK_FUNCTION, opts.expected_attach_type);
		if (fd < 0)
			return access("/sys/kernel/btf/vmlinux", R_OK) ? -ENODATA : fd;
		opts.attach_btf_id = fd;
	}
	fd = plumb_prog_load(hooks[hook].program, "plumb_self_test", returns_0,
			     sizeof(returns_0) / sizeof(returns_0[0]), &opts);
	return fd < 0 ? -errno : fd;
}

/* libbpf 1.1 does not support sessions. */
int plumb_hook_link_many(int program, enum plumb_hook hook, const char *function)
{
	union bpf_attr attr = {.link_create.prog_fd = program};
	int fd;

	attr.link_create.attach_type = plumb_hook_attach_type(hook);
	attr.link_create.kprobe_multi.syms = (uintptr_t)&function;
	attr.link_create.kprobe_multi.cnt = 1;
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

void plumb_hook_explain(enum plumb_hook hook, int err, char *why, size_t size)
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
	int program = plumb_hook_load(hook), link;

	if (program < 0)
		return program;
	link = plumb_hook_link_many(program, hook, "");
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
		plumb_hook_explain(hook, err, why, size);
	return err;
}

int plumb_hook_set_function(struct bpf_program *p, const char *function)
{
	char what[256];
	int err = plumb_allowed_name("k", function, what, sizeof(what));

	return err ?: bpf_program__set_attach_target(p, 0, function);
}
