/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <linux/types.h>
#include <string.h>
#include <unistd.h>
#include <plumb/bpf/sched/waker.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/preemption.h>
#include <plumb/kernel/token.h>
#include <plumb/kernel/types.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

static const char *types_file;

void plumb_kernel_types(const char *file)
{
	types_file = file;
}

/* The types that are evaluated, found in one pass over all types. */
enum {
	SRCU_GUARD,
	PROG_INFO,
	FPROBE,
	LINK_INFO,
	COUNT,
	HOT,
	SESSION_COOKIE,
	ATTACH_TYPES,
	CAST,
	WORD,
	SOUGHT
};

static const struct {
	const char *name;
	uint32_t kind;
} sought[SOUGHT] = {
	/*
	 * This guard was introduced when SRCU replaced disabled preemption as the protection of
	 * tracepoints.
	 */
	[SRCU_GUARD] = {"class_srcu_fast_notrace_t", BTF_KIND_TYPEDEF},
	[PROG_INFO] = {"bpf_prog_info", BTF_KIND_STRUCT},
	[FPROBE] = {"fprobe", BTF_KIND_STRUCT},
	[LINK_INFO] = {"bpf_link_info", BTF_KIND_STRUCT},
	[COUNT] = {"__preempt_count", BTF_KIND_VAR},
	[HOT] = {"pcpu_hot", BTF_KIND_VAR},
	[SESSION_COOKIE] = {"bpf_session_cookie", BTF_KIND_FUNC},
	[ATTACH_TYPES] = {"bpf_attach_type", BTF_KIND_ENUM},
	[CAST] = {"bpf_rdonly_cast", BTF_KIND_FUNC},
	[WORD] = {"timespec64", BTF_KIND_STRUCT},
};

/* A per-CPU variable. */
struct variable {
	__u32 id; /* 0: there is none */
	__s64 size;
};

struct answers {
	bool raw_is_by_srcu, fentry_is_guarded, fprobe_is_bounded, misses_are_counted,
		has_user_sessions;
	int session_form;
	struct variable count, hot;
	__u32 cast, word;
};

/* The type of member NAME of a struct or union, also in unnamed members of it; 0: none. */
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

/* Whether the struct has a member of this path ("a", "b", NULL). */
static bool has_member(const struct btf *btf, __u32 id, const char *const *path)
{
	for (; id && *path; path++)
		id = member_type(btf, id, *path);
	return id;
}

/* Finds the first type of each name and kind. */
static void seek(const struct btf *btf, __u32 *ids)
{
	for (__u32 id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		for (size_t i = 0; i < SOUGHT; i++)
			if (btf_kind(t) == sought[i].kind && !ids[i] &&
			    !strcmp(btf__name_by_offset(btf, t->name_off), sought[i].name))
				ids[i] = id;
	}
}

static bool has_value(const struct btf *btf, __u32 id, const char *name)
{
	const struct btf_type *t = id ? btf__type_by_id(btf, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
			return true;
	return false;
}

static int form_of(const struct btf *btf, __u32 cookie)
{
	const struct btf_type *f = cookie ? btf__type_by_id(btf, cookie) : NULL;

	if (!f)
		return 0;
	return btf_vlen(btf__type_by_id(btf, f->type)) ? 700 : 610;
}

static struct variable variable_of(const struct btf *btf, __u32 id)
{
	return (struct variable){id, id ? btf__resolve_size(btf, id) : 0};
}

static void read_answers(const struct btf *btf, struct answers *a)
{
	static const char *const skipped[] = {"recursion_misses", NULL};
	static const char *const bound[] = {"rethook", NULL};
	static const char *const missed[] = {"kprobe_multi", "missed", NULL};
	__u32 ids[SOUGHT] = {};

	seek(btf, ids);
	*a = (struct answers){
		.raw_is_by_srcu = ids[SRCU_GUARD],
		.fentry_is_guarded = has_member(btf, ids[PROG_INFO], skipped),
		.fprobe_is_bounded = has_member(btf, ids[FPROBE], bound),
		.misses_are_counted = has_member(btf, ids[LINK_INFO], missed),
		.has_user_sessions = has_value(btf, ids[ATTACH_TYPES], "BPF_TRACE_UPROBE_SESSION"),
		.session_form = form_of(btf, ids[SESSION_COOKIE]),
		.count = variable_of(btf, ids[COUNT]),
		.hot = variable_of(btf, ids[HOT]),
		.cast = ids[CAST],
		.word = ids[WORD],
	};
}

/*
 * Parses the types at the first call, unless functions hold a reference to them.  They are put
 * immediately, since libbpf parses them too and both copies would be in memory at the same time.
 */
static const struct answers *answers(void)
{
	static struct answers all;
	static bool are_known;
	struct btf *btf;

	if (are_known)
		return &all;
	are_known = true;
	btf = plumb_kernel_btf_get();
	if (!btf)
		btf = btf__load_vmlinux_btf(); /* also searches /boot */
	if (!btf && types_file)
		btf = btf__parse(types_file, NULL);
	if (btf)
		read_answers(btf, &all);
	plumb_kernel_btf_put(btf);
	return &all;
}

bool plumb_raw_tracepoints_can_be_preempted(void)
{
	return plumb_kernel_is_preemptible() && answers()->raw_is_by_srcu;
}

/* Whether programs can use the variable's address: BTF may have it and kallsyms not. */
static bool can_be_read(const struct variable *v)
{
	const struct bpf_insn program[] = {
		{.code = BPF_LD | BPF_IMM | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_BTF_ID,
		 .imm = v->id},
		{}, /* second half of this instruction */
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = v->size > 0 ? plumb_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "has_variable",
					       program, sizeof(program) / sizeof(program[0]), NULL)
			     : -1;

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

uint32_t plumb_kernel_preempt_count(uint32_t *btf_id)
{
	const struct answers *a = answers();

	*btf_id = a->count.id;
	if (can_be_read(&a->count))
		return a->count.size == sizeof(__u64) ? PLUMB_PREEMPT_COUNT_LONG
						      : PLUMB_PREEMPT_COUNT;
	*btf_id = a->hot.id;
	return can_be_read(&a->hot) ? PLUMB_PREEMPT_COUNT_HOT : PLUMB_PREEMPT_COUNT_NONE;
}

bool plumb_fentry_is_guarded(void)
{
	return answers()->fentry_is_guarded;
}

bool plumb_fprobe_is_bounded(void)
{
	return answers()->fprobe_is_bounded;
}

bool plumb_kprobe_misses_are_counted(void)
{
	return answers()->misses_are_counted;
}

int plumb_session_form(void)
{
	return answers()->session_form;
}

bool plumb_has_user_sessions(void)
{
	return answers()->has_user_sessions;
}

static bool can_cast(const struct answers *a)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = a->word},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = a->cast},
		{.code = BPF_LDX | BPF_MEM | BPF_DW, .src_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = a->cast && a->word
			 ? plumb_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "casts", program,
					   sizeof(program) / sizeof(program[0]), NULL)
			 : -1;

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool plumb_kernel_casts(uint32_t *function, uint32_t *word_type)
{
	const struct answers *a = answers();
	static int can = -1;

	if (can < 0)
		can = can_cast(a);
	*function = a->cast;
	*word_type = a->word;
	return can;
}
