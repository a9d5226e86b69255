/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* function: what loaders and programs of tools that time kernel functions share. */
#pragma once

#include <plumb/bpf/core/types.h>

/* Arguments of a call that are kept until its exit.  A program can define another number before. */
#ifndef PLUMB_FUNCTION_ARGS
#define PLUMB_FUNCTION_ARGS 2
#endif

/* Arguments, the first of a call, that function_register() supports. */
#define PLUMB_REGISTER_ARGS 6
/* The same of a Go function. */
#define PLUMB_GO_ARGS 9

/*
 * A target, in one word: the index of the function in the tool's list, how many bits its result has
 * (0: it returns no errors), and the index of the result's word after the arguments
 * (PLUMB_NO_RESULT: there is none, or it is not known). The word is written into each function's
 * own copy of a program, or is the cookie of its probe.
 */
#define PLUMB_TARGET(index, result_bits, result_at)                                                \
	((__u64)(index) | (__u64)(result_bits) << 32 | (__u64)(result_at) << 40)
#define PLUMB_TARGET_INDEX(target)       ((__u32)(target))
#define PLUMB_TARGET_RESULT_BITS(target) ((__u32)((target) >> 32) & 0xff)
#define PLUMB_TARGET_RESULT_AT(target)   ((__u32)((target) >> 40) & 0xff)

/* Of a user function, the highest 16 bits are the index of its file. */
#define PLUMB_TARGET_IN_FILE(target, file) ((target) | (__u64)(file) << 48)
#define PLUMB_TARGET_FILE(target)          ((__u32)((target) >> 48))
/* Builds of files whose calls are counted, a power of two. */
#define PLUMB_BUILDS 256

/* In a word's index: the word is a pointer, with which the verifier allows no arithmetic. */
#define PLUMB_POINTER 0x80
/* With the number of a function's argument words, the index of the address it returns to. */
#define PLUMB_CALLER 0x40
/* An index that no word has: of a result, and of an argument. */
#define PLUMB_NO_RESULT 0x7f
#define PLUMB_NO_ARG    0x7f

/* The placeholder of the target in a program until it is copied. */
#define PLUMB_TARGET_UNSET 0x7061726765740000ULL

struct function_config {
	__u64 target; /* of the only function; 0xff…: there are several */
	__u64 min_ns;
	__u32 only_errors;
	__u32 takes_args; /* a call's arguments are in its key, or a filter uses them */
	__u32 last_arg;   /* the highest of them, from 0 */
	__u32 frames;     /* calls are in frames.bpf.h; 0: their start is in a session's cookie */
	__u32 inflight_slots; /* ... or in in-flight slots, as long as one is free */
	__u32 paired;         /* ... and an exit counts only if it certainly belongs to the entry */
	__u32 calibration;    /* this is a calibration instance */
	__u32 nested;         /* each call's enclosing calls are needed */
	__u32 with_cookies;   /* a single uprobe's target is its cookie; 0: in the program's copy */
	__u32 result_bits;    /* of user functions, whose types are not known; 0: no errors */
	__u64 since;          /* of user functions: ns, CLOCK_MONOTONIC, before attaching */
};

/* The argument of a call that is a key (arg:N). */
struct plumb_arg {
	__u32 position; /* from 0, with PLUMB_POINTER if the verifier has to know */
	__u32 bits;     /* of its type; 0: not known, a value whose upper half is 0 is an int */
	__u32 is_signed;
	__u32 shift; /* its value is shifted right by that */
};
