/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hook: the kinds of hooks. */
#pragma once

#include <stdbool.h>

enum plumb_hook {
	PLUMB_HOOK_NONE,
	PLUMB_FENTRY,
	PLUMB_FEXIT,
	PLUMB_FSESSION, /* both ends, one program: 7.0 */
	PLUMB_KPROBE,
	PLUMB_KRETPROBE,
	PLUMB_RAW_TRACEPOINT,
	PLUMB_TRACEPOINT,
	PLUMB_UPROBE,
	PLUMB_URETPROBE,
	PLUMB_UPROBE_RETURNS, /* uprobes on each return instruction */
	/* many functions at once */
	PLUMB_FENTRY_MULTI,   /* 7.2 */
	PLUMB_FSESSION_MULTI, /* 7.2 */
	PLUMB_KPROBE_MULTI,   /* 5.18 */
	PLUMB_KRETPROBE_MULTI,
	PLUMB_KPROBE_SESSION, /* both ends: 6.10 */
	PLUMB_UPROBE_MULTI,   /* 6.6 */
	PLUMB_URETPROBE_MULTI,
	PLUMB_UPROBE_SESSION, /* both ends: 6.13 */
	PLUMB_UPROBE_MULTI_RETURNS,
};

/* Whether one program is attached to many functions at once. */
static inline bool plumb_hook_is_multi(enum plumb_hook hook)
{
	return hook >= PLUMB_FENTRY_MULTI;
}

/* Whether it needs the function's BTF: fentry, fexit, fsession and their multi forms. */
static inline bool plumb_hook_is_fentry(enum plumb_hook hook)
{
	return hook == PLUMB_FENTRY || hook == PLUMB_FEXIT || hook == PLUMB_FSESSION ||
	       hook == PLUMB_FENTRY_MULTI || hook == PLUMB_FSESSION_MULTI;
}
