/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arguments: those with which the programs of processes were executed, if they are asked for.
 *
 * Rows have a number made of them, as keys are short; the text is kept when it is first seen.
 */
#pragma once

#include "process-life.h"
#include <plumb/bpf/core/current.bpf.h>

/* Their sizes are set by the loader if arguments are asked for. */
PLUMB_MAP(life_texts, HASH, 1, __u64, struct life_text);
/* The number of the arguments of a process, by the address of its first thread. */
PLUMB_MAP(life_executed, HASH, 1, __u64, __u64);
/* One on each CPU. */
PLUMB_MAP(life_scratch, PERCPU_ARRAY, 1, __u32, struct life_text);

/* Arguments for which there was no room. */
__u64 life_unkept_arguments = 0;

#define wants_arguments() (plumb_config.by & LIFE_BY_ARGUMENTS)

static __always_inline __u64 arguments_mix(__u64 mix, __u64 word)
{
	mix = (mix ^ word) * 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
	return mix ^ mix >> 29;
}

static __always_inline void arguments_keep(__u64 leader, __u64 id)
{
	if (bpf_map_update_elem(&life_executed, &leader, &id, BPF_ANY))
		atomic_add(&life_unkept_arguments, 1);
}

/* The current thread has executed a program.  A function of its own, for its registers. */
static __noinline int arguments_read(struct task_struct *task)
{
	__u64 start = BPF_CORE_READ(task, mm, arg_start), n, id = 0;
	struct life_text *text;
	__u32 zero = 0, i;

	n = BPF_CORE_READ(task, mm, arg_end) - start;
	text = bpf_map_lookup_elem(&life_scratch, &zero);
	if (!text)
		return 0;
	__builtin_memset(text, 0, sizeof(*text));
	text->size = n;
	if (n > LIFE_ARGUMENTS)
		n = LIFE_ARGUMENTS;
	barrier_var(n); /* else the bound is known of another register only */
	if (n > LIFE_ARGUMENTS || bpf_probe_read_user(text->bytes, n, (void *)start))
		text->size = 0;
	for (i = 0; i < sizeof(*text) / 8; i++)
		id = arguments_mix(id, ((__u64 *)text)[i]);
	id = id ?: 1;
	if (!bpf_map_lookup_elem(&life_texts, &id) &&
	    bpf_map_update_elem(&life_texts, &id, text, BPF_ANY)) {
		atomic_add(&life_unkept_arguments, 1);
		id = 0;
	}
	arguments_keep((__u64)BPF_CORE_READ(task, group_leader), id);
	return 0;
}

static __always_inline __u64 arguments_of(__u64 leader)
{
	__u64 *id = bpf_map_lookup_elem(&life_executed, &leader);

	return id ? *id : 0;
}

/* A process that was forked has the arguments of its parent, as in /proc. */
static __always_inline void arguments_inherit(__u64 parent, __u64 child)
{
	__u64 id = arguments_of(parent);

	if (id)
		arguments_keep(child, id);
}
