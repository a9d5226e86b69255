/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* frames: where a thread is: the names of the frames of its stacks. */
#ifndef PLUMB_FRAMES_H
#define PLUMB_FRAMES_H

#include <jansson.h>
#include <stddef.h>
#include <plumb/bpf/stack/stacks.h>

/*
 * Innermost first: the kernel's, then the user's.  "[truncated]" follows
 * the frames of an incomplete stack.
 */
struct plumb_frames {
	size_t n, n_kernel;
	char *text[2 * PLUMB_STACK_DEPTH + 3]; /* the last: "[truncated]" if inlining adds more */
};

json_t *plumb_frames_json(const struct plumb_frames *f);
void plumb_frames_free(struct plumb_frames *f);

#endif
