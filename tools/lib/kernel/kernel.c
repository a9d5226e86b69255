/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/kernel/kernel.h>
#include <plumb/base/log.h>
#include <plumb/kernel/preemption.h>
#include <plumb/bpf/sched/waker.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

static const char *types_file;
static struct btf *types; /* parsed when first asked for */

void plumb_kernel_types(const char *file)
{
	types_file = file;
}

static const struct btf *kernel_types(void)
{
	if (!types)
		types = btf__load_vmlinux_btf();
	if (!types && types_file)
		types = btf__parse(types_file, NULL);
	return types;
}

void plumb_kernel_types_free(void)
{
	btf__free(types);
	types = NULL;
}

bool plumb_raw_tracepoints_can_be_preempted(void)
{
	/*
	 * From when on SRCU guards tracepoints and not disabled preemption; this
	 * guard's type came with it.
	 */
	static const char type[] = "class_srcu_fast_notrace_t";
	const struct btf *btf = kernel_types();
	bool found = btf && btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;

	return found && plumb_kernel_is_preemptible();
}

/* The type of member NAME of a struct or union, also of those without a name in it; 0: none. */
static __u32 member_type(const struct btf *btf, __u32 id, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	const struct btf_member *m;
	const char *own;
	__u32 found;

	if (!t || !btf_is_composite(t))
		return 0;
	m = btf_members(t);
	for (int i = 0; i < btf_vlen(t); i++) {
		own = btf__name_by_offset(btf, m[i].name_off);
		if (!strcmp(own, name))
			return m[i].type;
		found = *own ? 0 : member_type(btf, m[i].type, name);
		if (found)
			return found;
	}
	return 0;
}

/*
 * The size of VARIABLE, one of each CPU, if programs can have its address; else 0.  BTF may know it
 * and kallsyms not.
 */
static __s64 cpu_variable(const char *variable)
{
	const struct btf *btf = kernel_types();
	__s32 id = btf ? btf__find_by_name_kind(btf, variable, BTF_KIND_VAR) : 0;
	const struct bpf_insn program[] = {
		{.code = BPF_LD | BPF_IMM | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_BTF_ID,
		 .imm = id},
		{}, /* the second half of that */
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = id > 0 ? bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "has_variable", "GPL",
					program, sizeof(program) / sizeof(program[0]), NULL)
			: -1;

	if (fd < 0)
		return 0;
	close(fd);
	return btf__resolve_size(btf, id);
}

uint32_t plumb_kernel_preempt_count(void)
{
	__s64 size = cpu_variable("__preempt_count");

	if (size > 0)
		return size == sizeof(__u64) ? PLUMB_PREEMPT_COUNT_LONG : PLUMB_PREEMPT_COUNT;
	return cpu_variable("pcpu_hot") > 0 ? PLUMB_PREEMPT_COUNT_HOT : PLUMB_PREEMPT_COUNT_NONE;
}

/* Has the struct a member of this path ("a", "b", NULL)? */
static bool has_member(const char *type, const char *const *path)
{
	const struct btf *btf = kernel_types();
	__s32 id = btf ? btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT) : 0;

	for (; id > 0 && *path; path++)
		id = member_type(btf, id, *path);
	return id > 0;
}

bool plumb_fentry_is_guarded(void)
{
	static const char *const path[] = {"recursion_misses", NULL};

	return has_member("bpf_prog_info", path);
}

bool plumb_fprobe_is_bounded(void)
{
	static const char *const path[] = {"rethook", NULL};

	return has_member("fprobe", path);
}

bool plumb_kprobe_misses_are_counted(void)
{
	static const char *const path[] = {"kprobe_multi", "missed", NULL};

	return has_member("bpf_link_info", path);
}

int plumb_session_form(void)
{
	const struct btf *btf = kernel_types();
	__s32 id = btf ? btf__find_by_name_kind(btf, "bpf_session_cookie", BTF_KIND_FUNC) : 0;
	int form = 0;

	if (id > 0) {
		const struct btf_type *f = btf__type_by_id(btf, id);

		form = btf_vlen(btf__type_by_id(btf, f->type)) ? 700 : 610;
	}
	return form;
}
