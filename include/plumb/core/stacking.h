/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stacking: what the core knows of the stacks that programs take; it has them named and printed
 * through pointers.  stacks/stacks.h has those that a tool can choose.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct plumb_bpf;
struct plumb_flight;
struct plumb_frames;
struct plumb_options;
struct plumb_ring;
struct plumb_run;
struct plumb_tool;

struct plumb_stacking {
	/* Of the unwind tables for user stacks (unwind/unwind.h); NULL: there are none. */
	uint64_t (*tables_due)(void);
	bool (*tables_full)(void);
	/* After the tool's own: judges the options of stacks, and gives TOOL their view.  NULL: the
	 * tool prints them itself. */
	void (*complete)(struct plumb_options *options, struct plumb_tool *tool);
	/* Sets the sizes of maps in an object that is opened and not yet loaded; and fills those of
	 * one that is loaded: 0 or -errno. */
	void (*configure)(const struct plumb_run *run, const struct plumb_bpf *bpf,
			  bool calibration);
	int (*fill)(const struct plumb_bpf *bpf);
	/* When all programs are attached, and privileges not yet given up. */
	void (*begin)(struct plumb_run *run);
	/* Of processes seen in stacks; NULL: none.  It is read before those of the tool, since
	 * unlike them it always runs empty. */
	const struct plumb_ring *ring;
	/* Names the stack of a thread that is in a call, if plumb_inflight.stacks. */
	void (*flight)(const struct plumb_run *run, const struct plumb_flight *f,
		       struct plumb_frames *frames);
	void (*footer)(FILE *out); /* as in struct plumb_view */
};
