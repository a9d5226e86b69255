/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tail: the option, whether this kernel shows what it takes, and the programs. */
#include <plumb/syscalls/tail.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/sched/user-mode.h>
#include <plumb/core/cli.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/program.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/functions/probe.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/types.h>
#include <plumb/syscalls/syscall-options.h>
#include <plumb/witness/witness.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

/* Ticks while the shortest call lasts that is asked for, and between any two. */
#define TICKS       4
#define MOST_APART  10000000 /* ns */
#define LEAST       1000000  /* 4000 ticks a second on each CPU */
#define NS_A_SECOND 1000000000

struct plumb_tail plumb_tail;
static const __u64 *undecided; /* tail_undecided of the programs */

static const char *const programs[] = {"tail_leaves", NULL};
static const char *const ticking[] = {"tail_ticks", NULL};
static struct plumb_mechanism mechanism = {
	.name = "switches",
	.stability = PLUMB_SCHED_STABILITY,
	.programs = programs,
	.vital = programs,
	.interleaved = true, /* on 7.x others can run while a thread exits */
};

static uint64_t ns_apart(void)
{
	const uint64_t apart = plumb_tail.min_ns / TICKS;

	return apart < MOST_APART ? apart : MOST_APART;
}

/* Whether the number of user-mode.h changes, as it was found in a program of OBJECT. */
static bool changes(const struct bpf_object *object)
{
	const int reader =
		bpf_program__fd(bpf_object__find_program_by_name(object, "user_mode_self_test"));
	__u64 arguments[1] = {};
	__u32 last = 0;

	/* CPUs have different ones: this thread may be on another one next time. */
	for (int i = 0; i < 16; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments,
			    .ctx_size_in = sizeof(arguments));

		if (bpf_prog_test_run_opts(reader, &run) || (i && run.retval == last))
			return false;
		last = run.retval;
	}
	return true;
}

static int refuse(void)
{
	return plumb_error(EOPNOTSUPP, "--tail: this kernel does not show which threads have "
				       "returned to user mode: it takes randomize_kstack_offset=on "
				       "on its command line (Linux 5.13, x86_64)");
}

static int (*fill_before)(struct bpf_object *object);

static int fill(struct bpf_object *object)
{
	const int err = fill_before ? fill_before(object) : 0;

	return err ?: changes(object) ? 0 : refuse();
}

#if defined(__x86_64__)
enum { HAS_OFFSETS = 1 };
#else
enum { HAS_OFFSETS = 0 };
#endif

/* Whether each thread has its own number; else *ID is the BTF ID of the CPUs' variable, 0: none. */
static bool is_of_thread(__u32 *id)
{
	static const char *const variables[] = {"kstack_rnd_state", "kstack_offset"};
	struct btf *kept = plumb_kernel_btf_get(), *btf = kept ?: btf__load_vmlinux_btf();
	const struct btf_type *task = NULL;
	bool found = false;
	int of = -1;

	*id = 0;
	for (size_t i = 0; btf && of < 0 && i < 2; i++)
		of = btf__find_by_name_kind(btf, variables[i], BTF_KIND_VAR);
	if (of > 0)
		*id = of;
	of = btf ? btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT) : -1;
	if (of > 0)
		task = btf__type_by_id(btf, of);
	for (int i = 0; task && !found && i < btf_vlen(task); i++)
		found = !strcmp(btf__name_by_offset(btf, btf_members(task)[i].name_off),
				"kstack_offset");
	if (kept)
		plumb_kernel_btf_put(kept);
	else
		btf__free(btf);
	return found;
}

/* Sets the variable that user_mode_mark() reads. */
static int set_variable(struct bpf_object *object, const char *name, uint32_t id)
{
	struct bpf_program *p = bpf_object__find_program_by_name(object, name);
	struct bpf_insn *insns = plumb_insns_copy(p, PLUMB_USER_MODE_UNSET, BPF_PSEUDO_BTF_ID, id);
	int err = insns ? bpf_program__set_insns(p, insns, bpf_program__insn_cnt(p)) : -ENOMEM;

	free(insns);
	return err;
}

static int attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what, size_t size)
{
	return plumb_probe_samples(probes, bpf->object, *ticking, NS_A_SECOND / ns_apart(), what,
				   size);
}

int plumb_tail_configure(struct plumb_bpf *bpf, bool calibration,
			 const volatile struct syscall_config *config, __u8 *cpus_left,
			 const __u64 *of)
{
	struct syscall_config *selection = (struct syscall_config *)config;
	__u32 id;

	if (calibration) {
		selection->min_ns = UINT64_MAX;
	} else {
		bpf->syscalls = selection;
		bpf->cpus_left = cpus_left;
		undecided = of;
	}
	bpf->copied = ticking;
	bpf->attach = attach;
	if (HAS_OFFSETS && is_of_thread(&id))
		return 0;
	if (HAS_OFFSETS && id)
		return set_variable(bpf->object, *programs, id)
			       ?: set_variable(bpf->object, *ticking, id)
			       ?: set_variable(bpf->object, "thread_exit", id)
			       ?: set_variable(bpf->object, "user_mode_self_test", id);
	return refuse();
}

static void footer(FILE *out)
{
	char text[32];

	plumb_format_time(plumb_tail.min_ns, PLUMB_AUTO, text, sizeof(text));
	fprintf(out, "tail: calls that took at least %s; of others %llu may have taken as much\n",
		text, (unsigned long long)*undecided);
}

static void add_json(json_t *json, const struct plumb_report *r)
{
	json_t *tail;

	(void)r;
	tail = json_pack("{s:o, s:o, s:o}", "at_least", plumb_json_u64(plumb_tail.min_ns), "tick",
			 plumb_json_u64(ns_apart()), "undecided", plumb_json_u64(*undecided));
	json_object_set_new(json, "tail", tail);
}

static const char *open_witness(const struct plumb_run *run)
{
	(void)run;
	return "--tail sees no calls begin";
}

static const struct plumb_witness no_witness = {.open = open_witness};

void plumb_tail_complete(struct plumb_tool *tool, struct plumb_options *o,
			 int (*open)(struct plumb_bpf *bpf, bool calibration))
{
	if (!plumb_tail.given)
		return;
	if (plumb_tail.min_ns < LEAST)
		plumb_usage_error("--tail is at least 1ms");
	if (plumb_syscall_selection.only_errors || o->by & PLUMB_BY_ERRNO)
		plumb_usage_error("--tail does not see what calls return: no --errors, no -b "
				  "errno");
	if (plumb_syscall_selection.min_ns)
		plumb_usage_error("--tail and --min exclude each other");
	if (o->no_return)
		plumb_usage_error("--tail does not tell waits on the way out from others: no "
				  "--no-return");
	plumb_syscall_selection.min_ns = plumb_tail.min_ns;
	mechanism.open = open;
	fill_before = tool->lifecycle.fill;
	tool->lifecycle.fill = fill;
	tool->view.footer = footer;
	tool->view.report_json = add_json;
	if (tool->witness)
		tool->witness = &no_witness;
	tool->mechanisms.list = &mechanism;
	tool->mechanisms.n = 1;
	tool->overhead.syscalls = false;
	tool->overhead.traced = "a traced switch";
}
