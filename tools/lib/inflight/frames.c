/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <plumb/core/json.h>
#include <plumb/inflight/frames.h>

void plumb_frames_free(struct plumb_frames *f)
{
	while (f->n)
		free(f->text[--f->n]);
}

json_t *plumb_frames_json(const struct plumb_frames *f)
{
	json_t *stack = json_array(), *one;

	for (size_t i = 0; i < f->n; i++) {
		one = json_object();
		json_object_set_new(one, "frame", plumb_json_text(f->text[i]));
		json_object_set_new(one, "kernel", json_boolean(i < f->n_kernel));
		json_array_append_new(stack, one);
	}
	return stack;
}
