/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "programs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/bpf/core/copies.h>
#include <plumb/core/program.h>
#include <plumb/functions/copies.h>
#include <plumb/kernel/token.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* --- programs with compare-and-exchange on kernels whose BPF has none (before 5.12) --- */

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

/* The expected value stays in register 0, where the instruction would have put the old one. */
static int replace(struct bpf_program *p)
{
	const size_t n = bpf_program__insn_cnt(p);
	struct bpf_insn *insns = malloc(n * sizeof(*insns));
	int err;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(p), n * sizeof(*insns));
	for (size_t i = 0; i < n; i++)
		if (insns[i].code == EXCHANGE && insns[i].imm == BPF_CMPXCHG) {
			insns[i].code = STORE;
			insns[i].imm = 0;
		}
	err = bpf_program__set_insns(p, insns, n);
	free(insns);
	return err;
}

/*
 * If the kernel refuses compare-and-exchange, it is replaced by a store, which the programs always
 * see succeed; not in functions that are not inlined, so that ONLY_WITHOUT takes the place of
 * ONLY_WITH then.
 */
static int prepare_exchange(struct bpf_object *object, const char *only_with,
			    const char *only_without)
{
	const bool has = kernel_has_exchange();
	struct bpf_program *p =
		bpf_object__find_program_by_name(object, has ? only_without : only_with);
	int err = bpf_program__set_autoload(p, false);

	if (has)
		return err;
	bpf_object__for_each_program(p, object) {
		if (!err)
			err = replace(p);
	}
	return err;
}

/* --- copies of the programs that follow I/O, where these can be preempted --- */

static const char *const names[] = {
	"request_completed", "bio_completed", "request_requeued", "request_issued",
	"bio_split_off",     "bio_mapped",    "bio_queued",
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))
#define N_ENDS  2

static void choose_copies(struct bpf_object *object, bool preemptible)
{
	for (size_t i = 0; !preemptible && i < N_NAMES; i++) {
		plumb_copies_limit(object, names[i], i < N_ENDS ? PLUMB_END_COPIES : 1);
		/* Another program takes their place before 5.12. */
		if (!bpf_program__autoload(plumb_copy_of(object, names[i], 0)))
			plumb_copies_limit(object, names[i], 0);
	}
}

int programs_choose(struct bpf_object *object, bool preemptible)
{
	int err = prepare_exchange(object, "request_completed_0", "request_completed_inlined");

	choose_copies(object, preemptible);
	return err;
}

/* The executions of hook I that none of its loaded copies has seen, at most; UINT64_MAX: unknown.
 */
static uint64_t unseen(const struct bpf_object *object, size_t i)
{
	uint64_t least = UINT64_MAX, missed;
	struct bpf_program *p;

	for (int copy = 0; copy < PLUMB_COPIES; copy++) {
		missed = 0;
		p = plumb_copy_of(object, names[i], copy);
		if (!bpf_program__autoload(p))
			continue;
		if (!plumb_program_missed(bpf_program__fd(p), &missed))
			return UINT64_MAX;
		/* What one has not seen, the others may have. */
		least = missed < least ? missed : least;
	}
	return least;
}

uint64_t programs_unseen(const struct bpf_object *object)
{
	uint64_t sum = 0, one;

	for (size_t i = 0; i < N_NAMES; i++) {
		one = unseen(object, i);
		if (one == UINT64_MAX)
			return one;
		sum += one;
	}
	return sum;
}
