/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
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

static bool is_call(const struct bpf_insn *insn, int32_t helper)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg && insn->imm == helper;
}

bool plumb_insns_calls(const struct bpf_program *p, int32_t unset)
{
	const struct bpf_insn *insns = bpf_program__insns(p);

	for (size_t i = 0; i < bpf_program__insn_cnt(p); i++)
		if (is_call(&insns[i], unset))
			return true;
	return false;
}

int plumb_insns_call(struct bpf_program *p, int32_t unset, uint32_t function)
{
	const size_t n = bpf_program__insn_cnt(p);
	struct bpf_insn *insns = malloc(n * sizeof(*insns));
	int err;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(p), n * sizeof(*insns));
	for (size_t i = 0; i < n; i++)
		if (is_call(&insns[i], unset)) {
			insns[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
			insns[i].imm = function;
		}
	err = bpf_program__set_insns(p, insns, n);
	free(insns);
	return err;
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
