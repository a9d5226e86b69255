/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arguments: arguments of system calls by name, as strace writes them: flags, commands, signals;
 * times in words.  Only registers are read, and the time that one may point to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/syscall/shape.h>
#include <plumb/bpf/syscall/syscall.h>

struct plumb_call {
	uint32_t nr, abi;
	uint64_t arguments[6];
	uint64_t began; /* ns, CLOCK_MONOTONIC; 0: not known */
	/* What the argument of its time points to, as the shape's bytes are; NULL: not known. */
	const void *time;
	/* What descriptors are, "</a/file>", by argument; NULL: not known.  NULL: of none. */
	const char *const *descriptors;
};

/* Fills in SHAPES, of all calls that have some. */
void plumb_call_shapes(struct syscall_shape shapes[2 * PLUMB_SYSCALLS]);

/* How many arguments the call has, at most 6; -1: not known. */
int plumb_call_arguments(uint32_t nr, uint32_t abi);

/* Argument I, from 0 on; "": it has no meaning in this call.  Returns TEXT. */
const char *plumb_call_argument(const struct plumb_call *c, int i, char *text, size_t size);

/* --- argument-names.c: names of values --- */

/* The bits of MASK are VALUE.  In a list, which ends with no name, others may follow. */
struct plumb_value_name {
	uint64_t value, mask;
	const char *name;
};

/* The list of that NAME ("open", "prot"); NULL: there is none. */
const struct plumb_value_name *plumb_value_names(const char *name);
/* "O_RDWR|O_CREAT|0x8"; "0" if there are none.  Returns TEXT. */
const char *plumb_values_text(const struct plumb_value_name *names, uint64_t value, char *text,
			      size_t size);
/* "SIGCHLD", "SIGRT_2", "99".  Returns TEXT. */
const char *plumb_signal_text(int signal, char *text, size_t size);
/* A time as it is: "1.5s", "20ms".  Returns TEXT. */
const char *plumb_exact_time(uint64_t ns, char *text, size_t size);
