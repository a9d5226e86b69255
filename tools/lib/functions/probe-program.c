/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe: programs for a hook, and copies of them with a target as a constant. */
#include <plumb/functions/probing.h>

#include <plumb/core/memory.h>
#include <plumb/core/program.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/function/function.h>
#include <plumb/kernel/token.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

/* include/uapi/linux/bpf.h: attach types, of which older headers lack some. */
enum {
	KPROBE_MULTI = 42,
	UPROBE_MULTI = 48,
	KPROBE_SESSION = 56,
	UPROBE_SESSION = 57,
	FSESSION = 58,
	FENTRY_MULTI = 59,
	FSESSION_MULTI = 61
};

bool plumb_probes_have_cookies(void)
{
	static int has = -1;

	if (has < 0)
		has = libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie,
					      NULL) == 1;
	return has;
}

int plumb_hook_attach_type(enum plumb_hook hook)
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
		[PLUMB_URETPROBE_MULTI] = UPROBE_MULTI,
		[PLUMB_UPROBE_SESSION] = UPROBE_SESSION,
		[PLUMB_UPROBE_MULTI_RETURNS] = UPROBE_MULTI,
	};

	return hook < sizeof(types) / sizeof(types[0]) ? types[hook] : 0;
}

const char *plumb_probe_name(const struct plumb_functions *f, size_t i, char *text, size_t size)
{
	const struct plumb_function *one = &f->all[i];
	char place[16] = "";

	/* The notation of livepatch. */
	if (one->place)
		snprintf(place, sizeof(place), ",%u", one->place);
	snprintf(text, size, "%s%s%s%s", one->module ?: "", one->module ? ":" : "", one->name,
		 place);
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
	int type = plumb_hook_attach_type(hook);

	if (type)
		bpf_program__set_expected_attach_type(p, type);
	/* libbpf 1.1 does not know the section of uprobe.multi. */
	if (hook >= PLUMB_UPROBE_MULTI)
		bpf_program__set_type(p, BPF_PROG_TYPE_KPROBE);
	if (!plumb_hook_is_fentry(hook))
		return 0;
	/* A program for many functions must not name one. */
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

/* What libbpf gave the verifier of programs that may be copied. */
static struct functions {
	const struct bpf_program *program;
	struct bpf_func_info *all;
	uint32_t n;
} * functions;
static size_t n_functions;

static int note_functions(struct bpf_program *p, struct bpf_prog_load_opts *opts, long unused)
{
	const size_t size = opts->func_info_cnt * sizeof(struct bpf_func_info);
	struct functions *f = NULL;

	(void)unused;
	if (opts->func_info_rec_size != sizeof(struct bpf_func_info))
		return 0;
	/* Another one can have been here, of an object that is closed. */
	for (size_t i = 0; i < n_functions; i++)
		if (functions[i].program == p)
			f = &functions[i];
	if (!f) {
		f = plumb_append(functions, n_functions);
		f->all = NULL;
	}
	free(f->all);
	*f = (struct functions){
		.program = p, .n = opts->func_info_cnt, .all = plumb_zeroed(1, size)};
	memcpy(f->all, opts->func_info, size);
	return 0;
}

void plumb_probe_note_functions(void)
{
	static const struct {
		const char *section;
		enum bpf_prog_type type;
		enum bpf_attach_type attach;
	} copied[] = {
		{"fentry", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY},
		{"fexit", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT},
		{"kprobe", BPF_PROG_TYPE_KPROBE, 0},
		{"kretprobe", BPF_PROG_TYPE_KPROBE, 0},
		{"raw_tp", BPF_PROG_TYPE_RAW_TRACEPOINT, 0},
		{"tracepoint", BPF_PROG_TYPE_TRACEPOINT, 0},
		{"perf_event", BPF_PROG_TYPE_PERF_EVENT, 0},
	};
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = note_functions);
	static bool done;

	for (size_t i = 0; !done && i < sizeof(copied) / sizeof(copied[0]); i++)
		libbpf_register_prog_handler(copied[i].section, copied[i].type, copied[i].attach,
					     &opts);
	done = true;
}

static void add_functions(const struct plumb_probes *probes, const struct bpf_program *p,
			  struct bpf_prog_load_opts *opts)
{
	for (size_t i = 0; i < n_functions; i++) {
		if (functions[i].program != p)
			continue;
		opts->prog_btf_fd = bpf_object__btf_fd(probes->object);
		opts->func_info = functions[i].all;
		opts->func_info_cnt = functions[i].n;
		opts->func_info_rec_size = sizeof(struct bpf_func_info);
	}
}

int plumb_probe_copy(const struct plumb_probes *probes, const struct bpf_program *p,
		     enum plumb_hook hook, const struct plumb_function *function, uint64_t target)
{
	struct bpf_insn *insns = plumb_insns_copy(p, PLUMB_TARGET_UNSET, 0, target);
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = plumb_hook_attach_type(hook));
	int fd;

	if (!insns)
		return -ENOMEM;
	add_functions(probes, p, &opts);
	if (plumb_hook_is_fentry(hook)) {
		opts.attach_btf_id = function->btf_id;
		opts.attach_btf_obj_fd = function->btf_fd;
	}
	fd = plumb_prog_load(bpf_program__type(p), bpf_program__name(p), insns,
			     bpf_program__insn_cnt(p), &opts);
	if (fd < 0)
		fd = -errno;
	free(insns);
	return fd;
}
