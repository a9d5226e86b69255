/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of usdt-latency. */
#pragma once

#include <plumb/bpf/key/key.h>
#include <plumb/bpf/user/usdt.h>

/* The probes of a pair. */
enum { USDT_START, USDT_DONE, USDT_ENDS };

/* Keys that the tool adds to --by: an argument of START, and one of DONE. */
#define USDT_BY_ARG(end) (PLUMB_BY_TOOL << (end))

/* Places in the code of all probes, in all files that are traced. */
#define USDT_PLACES 1024

/* Where a place has its arguments; of kind PLUMB_USDT_NONE if they are not needed. */
struct usdt_place {
	struct plumb_usdt_arg by;   /* for --by */
	struct plumb_usdt_arg pair; /* for --key */
};

struct usdt_config {
	__u32 by_argument; /* pairs have equal arguments, instead of the same thread */
	__u32 shift[USDT_ENDS];
	__u32 is_signed[USDT_ENDS];
};

struct usdt_key {
	struct plumb_who who;
	__u64 arg[USDT_ENDS];
	__u64 unread; /* bits by end: the argument could not be read */
};
