/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs of function.bpf.h: what sees the end of a call is attached first. */
#include <plumb/rungs.h>

const char *const plumb_function_programs[] = {"thread_exit", "thread_fork", "thread_switch_btf",
					       "thread_switch_raw", NULL};

const struct plumb_aim plumb_fsession[] = {{"fsession", PLUMB_FSESSION}, {}};
const struct plumb_aim plumb_fsession_multi[] = {{"fsession_multi", PLUMB_FSESSION_MULTI}, {}};
const struct plumb_aim plumb_fentry[] = {
	{"fentry_leave", PLUMB_FEXIT}, {"fentry_enter", PLUMB_FENTRY}, {}};
const struct plumb_aim plumb_kprobe_session[] = {{"kprobe_session", PLUMB_KPROBE_SESSION}, {}};
const struct plumb_aim plumb_kprobe_multi[] = {
	{"multi_leave", PLUMB_KRETPROBE_MULTI}, {"multi_enter", PLUMB_KPROBE_MULTI}, {}};
const struct plumb_aim plumb_kprobe[] = {
	{"kprobe_leave", PLUMB_KRETPROBE}, {"kprobe_enter", PLUMB_KPROBE}, {}};
