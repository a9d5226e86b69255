/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* function: what crosses the boundary of the tools that time kernel functions. */
#ifndef PLUMB_FUNCTION_H
#define PLUMB_FUNCTION_H

#include <plumb/bpf/core/types.h>

/* Arguments of a call that are kept for its end. */
#define PLUMB_FUNCTION_ARGS 2

/* Arguments, the first of a call, that function_register() finds. */
#define PLUMB_REGISTER_ARGS 6

/*
 * A target: which of the tool's functions, how many bits its result has (0: it
 * tells of no errors), and at which word it is, behind the arguments (PLUMB_NO_RESULT:
 * there is none, or it is not known), in one word, which is written into each function's
 * own copy of a program, or is the cookie of its probe.
 */
#define PLUMB_TARGET(index, result_bits, result_at)                                                \
	((__u64)(index) | (__u64)(result_bits) << 32 | (__u64)(result_at) << 40)
#define PLUMB_TARGET_INDEX(target)       ((__u32)(target))
#define PLUMB_TARGET_RESULT_BITS(target) ((__u32)((target) >> 32) & 0xff)
#define PLUMB_TARGET_RESULT_AT(target)   ((__u32)((target) >> 40) & 0xff)

/* In a word's number: it is a pointer, with which the verifier lets nobody calculate. */
#define PLUMB_POINTER 0x80
/* A number that no word has. */
#define PLUMB_NO_RESULT 0x7f

/* What a program has in place of it until it is copied. */
#define PLUMB_TARGET_UNSET 0x7061726765740000ULL

struct function_config {
	__u64 target; /* of the only function; 0xff…: there are several */
	__u64 min_ns;
	__u32 only_errors;
	__u32 takes_args; /* a call's arguments decide on it, or are in its key */
	__u32 last_arg;   /* ... none behind this one, from 0 */
	__u32 frames;     /* calls are in frames.bpf.h; 0: their start is in a session's cookie */
	__u32 inflight_slots; /* ... in its in-flight slots, as long as one is free */
	__u32 paired;      /* ... and only an end that certainly belongs to the beginning counts */
	__u32 calibration; /* this is a calibration instance */
	__u32 nested;      /* a call is to know inside of which others it is */
};

#endif
