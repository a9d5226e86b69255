/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arg: the argument of a call that is a key (arg:N). */
#ifndef PLUMB_ARG_H
#define PLUMB_ARG_H

#include <plumb/bpf/function/function.h>

struct plumb_arg {
	__u32 position; /* from 0, with PLUMB_POINTER (function.h) if the verifier has to know */
	__u32 bits;     /* of its type; 0: not known, a value whose upper half is 0 is an int */
	__u32 is_signed;
	__u32 shift; /* its value is shifted right by that */
};

#endif
