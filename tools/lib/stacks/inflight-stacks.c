/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <plumb/inflight/inflight.h>
#include <plumb/stacks/stacks.h>

/* A line of /proc/PID/stack is "[<0>] function+0x1f/0x40 [module]". */
static void add_line(struct plumb_frames *f, char *line)
{
	char *name = strstr(line, "] "), *module, *text;

	if (!name || f->n == 2 * PLUMB_STACK_DEPTH)
		return;
	name += 2;
	module = strchr(name, ' ');
	name[strcspn(name, "+ ")] = 0;
	if (asprintf(&text, "%s%s", name, module ?: "") < 0)
		abort();
	f->text[f->n++] = text;
}

/*
 * Reads the kernel stack of a sleeping thread.  Programs took none of what began before the trace.
 */
static void read_stack(const struct plumb_flight *f, struct plumb_frames *frames)
{
	char text[16384], *rest = text, *line;

	plumb_thread_read(f->pid, f->tid, "stack", text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		add_line(frames, line);
	frames->n_kernel = frames->n;
}

void plumb_flight_frames(const struct plumb_run *run, const struct plumb_flight *f,
			 struct plumb_frames *frames)
{
	struct plumb_stack_key key = {.kernel = f->kernel, .user = f->user, .tgid = f->pid};

	*frames = (struct plumb_frames){};
	if (f->kernel == PLUMB_NO_STACK && f->user == PLUMB_NO_STACK)
		read_stack(f, frames);
	else
		plumb_frames_name(frames, run->instance.bpf.object, &key);
}
