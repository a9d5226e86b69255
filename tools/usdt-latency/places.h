/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* places: the probes START and DONE, their places in the code, and where these have arguments. */
#pragma once

#include <plumb/core/tool.h>
#include <plumb/functions/probe.h>
#include <plumb/user/builds.h>

#include "usdt-latency.h"

#define USDT_NO_ARGUMENT (-1)

/* Set by the options. */
struct usdt_pair {
	struct plumb_user_pattern patterns[USDT_ENDS];
	size_t n_patterns;
	int by[USDT_ENDS];         /* the number of the argument for --by; or none */
	int key[USDT_ENDS];        /* the same for --key */
	bool is_signed[USDT_ENDS]; /* the argument for --by: of the first place that is found */
};

extern struct usdt_pair usdt_pair;

/* struct plumb_builds_use.check: whether they have the arguments that are wanted. */
int usdt_places_check(struct plumb_userfuncs *found);

/* struct plumb_builds_use.attach; DONE first, so that each START that is seen has its DONE seen. */
int usdt_places_attach(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		       const struct plumb_userfuncs *functions, size_t first,
		       const struct plumb_build *build, char *what, size_t size);

/* The hook and the program of an end, by the mode of a mechanism. */
extern const struct plumb_attach_target usdt_hooks[][USDT_ENDS + 1];

/* struct plumb_tool_overhead.calibrate: on a START and a DONE in this program. */
void usdt_calibrate(struct plumb_run *run);
