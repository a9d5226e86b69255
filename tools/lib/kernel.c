/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/kernel.h>
#include <plumb/log.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

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
	return found;
}

/* Known not to be only where the kernel was built so, or says that it runs so. */
bool plumb_fentry_can_be_preempted(void)
{
	struct utsname uts;
	char mode[64] = "";
	FILE *f;

	if (uname(&uts) || !strstr(uts.version, "PREEMPT"))
		return false;
	f = fopen("/sys/kernel/debug/sched/preempt", "re");
	if (f) {
		if (!fgets(mode, sizeof(mode), f))
			*mode = 0;
		fclose(f);
	}
	return !strstr(mode, "(none)") && !strstr(mode, "(voluntary)");
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

/* It counts the times that this thread got a CPU: one at least, unless it counts nothing. */
static bool waits_are_kept(void)
{
	unsigned long long on_cpu, waited, times = 0;
	FILE *f = fopen("/proc/self/schedstat", "re");

	if (!f)
		return false;
	if (fscanf(f, "%llu %llu %llu", &on_cpu, &waited, &times) != 3)
		times = 0;
	fclose(f);
	return times;
}

int plumb_sched_check(struct plumb_options *options)
{
	static const char *const queue[] = {"cfs_rq", NULL}, *const rq[] = {"rq", NULL};

	(void)options;
	if (!waits_are_kept())
		return plumb_error(EOPNOTSUPP,
				   "the scheduler keeps no account of waits: CONFIG_SCHED_INFO is "
				   "off, or kernel.task_delayacct is 0");
	if (!has_member("sched_entity", queue) || !has_member("cfs_rq", rq))
		return plumb_error(EOPNOTSUPP, "a task's run queue cannot be found: "
					       "CONFIG_FAIR_GROUP_SCHED is off");
	return 0;
}
