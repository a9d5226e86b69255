/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/kernel.h>
#include <plumb/log.h>
#include <plumb/preemption.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>

bool plumb_raw_tracepoints_can_be_preempted(void)
{
	/*
	 * From when on SRCU guards tracepoints and not disabled preemption; this
	 * guard's type came with it.
	 */
	static const char type[] = "class_srcu_fast_notrace_t";
	struct btf *btf = btf__load_vmlinux_btf();
	bool found = btf && btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;

	btf__free(btf);
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

static const char *types_file;

void plumb_kernel_types(const char *file)
{
	types_file = file;
}

/* Has the struct a member of this path ("a", "b", NULL)? */
static bool has_member(const char *type, const char *const *path)
{
	struct btf *btf = btf__load_vmlinux_btf();
	__s32 id;

	if (!btf && types_file)
		btf = btf__parse(types_file, NULL);
	id = btf ? btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT) : 0;

	for (; id > 0 && *path; path++)
		id = member_type(btf, id, *path);
	btf__free(btf);
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
	struct btf *btf = btf__load_vmlinux_btf();
	__s32 id = btf ? btf__find_by_name_kind(btf, "bpf_session_cookie", BTF_KIND_FUNC) : 0;
	int form = 0;

	if (id > 0) {
		const struct btf_type *f = btf__type_by_id(btf, id);

		form = btf_vlen(btf__type_by_id(btf, f->type)) ? 700 : 610;
	}
	btf__free(btf);
	return form;
}
