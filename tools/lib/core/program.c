/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/core/program.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

struct bpf_insn *plumb_insns_copy(const struct bpf_program *p, uint64_t unset, uint8_t kind,
				  uint64_t value)
{
	size_t n = bpf_program__insn_cnt(p);
	struct bpf_insn *insns = malloc(n * sizeof(*insns));

	if (!insns)
		return NULL;
	memcpy(insns, bpf_program__insns(p), n * sizeof(*insns));
	for (size_t i = 0; i + 1 < n; i++)
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && !insns[i].src_reg &&
		    ((uint64_t)(uint32_t)insns[i + 1].imm << 32 | (uint32_t)insns[i].imm) ==
			    unset) {
			insns[i].src_reg = kind;
			insns[i].imm = value;
			insns[i + 1].imm = value >> 32;
		}
	return insns;
}

/* What libbpf gave the verifier of programs that may be copied. */
static struct functions {
	const struct bpf_program *program;
	struct bpf_func_info *all;
	uint32_t n;
} *functions;
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
	*f = (struct functions){.program = p, .n = opts->func_info_cnt, .all = plumb_zeroed(1, size)};
	memcpy(f->all, opts->func_info, size);
	return 0;
}

void plumb_programs_note(void)
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

void plumb_program_functions(const struct bpf_program *p, const struct bpf_object *object,
			     struct bpf_prog_load_opts *opts)
{
	for (size_t i = 0; i < n_functions; i++) {
		if (functions[i].program != p)
			continue;
		opts->prog_btf_fd = bpf_object__btf_fd(object);
		opts->func_info = functions[i].all;
		opts->func_info_cnt = functions[i].n;
		opts->func_info_rec_size = sizeof(struct bpf_func_info);
	}
}

bool plumb_program_missed(int program, uint64_t *missed)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	/* Kernels before 5.12 do not count misses, and fill in less. */
	if (bpf_obj_get_info_by_fd(program, &info, &size) ||
	    size < offsetof(struct bpf_prog_info, recursion_misses) + sizeof(__u64))
		return false;
	*missed += info.recursion_misses;
	return true;
}
