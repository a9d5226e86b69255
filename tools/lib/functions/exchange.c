/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/functions/exchange.h>
#include <plumb/kernel/token.h>

#include <bpf/libbpf.h>

#define EXCHANGE (BPF_STX | BPF_ATOMIC | BPF_DW)
#define STORE    (BPF_STX | BPF_MEM | BPF_DW)

/* Whether a program that compares and exchanges a word of its stack can be loaded. */
static bool kernel_has_exchange(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = STORE, .dst_reg = BPF_REG_10, .src_reg = BPF_REG_0, .off = -8},
		{.code = EXCHANGE,
		 .dst_reg = BPF_REG_10,
		 .src_reg = BPF_REG_0,
		 .off = -8,
		 .imm = BPF_CMPXCHG},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = plumb_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, insns,
				 sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static int replace(struct bpf_program *p)
{
	const size_t n = bpf_program__insn_cnt(p);
	struct bpf_insn *insns = malloc(n * sizeof(*insns));
	int err;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(p), n * sizeof(*insns));
	for (size_t i = 0; i < n; i++)
		if (insns[i].code == EXCHANGE &&
		    (insns[i].imm == BPF_CMPXCHG || insns[i].imm == BPF_XCHG)) {
			insns[i].code = STORE;
			insns[i].imm = 0;
		}
	err = bpf_program__set_insns(p, insns, n);
	free(insns);
	return err;
}

int plumb_exchanges_to_stores(struct bpf_object *object)
{
	struct bpf_program *p;
	int err = 0;

	if (kernel_has_exchange())
		return 0;
	bpf_object__for_each_program(p, object) {
		if (!err)
			err = replace(p);
	}
	return err ?: 1;
}
