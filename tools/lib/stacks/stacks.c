/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stacks in the loader: from stack numbers to names. */
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/stack/unwind.h>
#include <plumb/core/clock.h>
#include <plumb/core/json.h>
#include <plumb/core/privileges.h>
#include <plumb/core/text.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>
#include <plumb/unwind/unwind.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define MAX_INLINED 16
#define FRAME       (2 * 4096) /* a function and its module, each at most PLUMB_SYMBOL_NAME */

struct plumb_stacks_options plumb_stacks_options = {.max = 16384};
struct plumb_symbolizer *plumb_stacks_symbolizer;
const char *(*plumb_stacks_first)(const struct plumb_stack_key *key);

/* The maximum depth; a stack of this depth may lack its outermost frames. */
static __u32 deepest = PLUMB_STACK_DEPTH;

static void read_deepest(void)
{
	unsigned int most;
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", "re");

	if (f && fscanf(f, "%u", &most) == 1 && most < deepest)
		deepest = most;
	if (f)
		fclose(f);
}

static void set_entries(const struct plumb_bpf *bpf, const char *map, uint32_t n)
{
	bpf_map__set_max_entries(bpf_object__find_map_by_name(bpf->object, map), n);
}

void plumb_stacks_configure_frames(const struct plumb_run *run, const struct plumb_bpf *bpf,
				   bool calibration)
{
	const struct plumb_config *c = bpf->config;
	const uint32_t n = c->interleaved ? c->cpus * PLUMB_STACKS_AT_ONCE : c->cpus;

	if (!calibration)
		set_entries(bpf, "plumb_stacks", plumb_stacks_options.max);
	set_entries(bpf, "plumb_stack_taken", n);
	set_entries(bpf, "plumb_stack_free", c->interleaved ? n : 1);
	set_entries(bpf, "plumb_unwind_walks", n);
}

void plumb_stacks_configure(const struct plumb_run *run, const struct plumb_bpf *bpf,
			    bool calibration)
{
	plumb_stacks_configure_frames(run, bpf, calibration);
	plumb_unwind_configure(run, bpf, calibration);
}

/* Makes all places free in which stacks are taken. */
int plumb_stacks_fill(const struct plumb_bpf *bpf)
{
	const struct bpf_map *m = bpf_object__find_map_by_name(bpf->object, "plumb_stack_free");

	for (uint32_t i = 0; i < bpf_map__max_entries(m); i++)
		if (bpf_map_update_elem(bpf_map__fd(m), NULL, &i, BPF_ANY))
			return -errno;
	return plumb_unwind_fill(bpf);
}

/*
 * Reads the kernel's symbols, once.  Before programs are attached, the kernel has no names for
 * them; later, capabilities are given up, and reading would delay noting processes, some of which
 * would have exited by then.
 */
static void begin_kernel(struct plumb_run *run)
{
	plumb_stacks_symbolizer = plumb_symbolizer_new(plumb_stacks_options.inlines);
	if (!plumb_stacks_symbolizer)
		abort();
	read_deepest();
	plumb_symbolizer_obstacle(plumb_stacks_symbolizer);
}

void plumb_stacks_begin(struct plumb_run *run)
{
	plumb_retain(plumb_caps_for_processes(), 0, "names of user stacks");
	begin_kernel(run);
	plumb_symbolizer_watch(plumb_stacks_symbolizer);
}

static int note(void *context, const void *record, size_t size)
{
	if (size < sizeof(__u32))
		return 0;
	plumb_symbolizer_note_soon(plumb_stacks_symbolizer, *(const __u32 *)record);
	plumb_unwind_note(*(const __u32 *)record);
	return 0;
}

static bool has_changed(pid_t pid)
{
	return plumb_symbolizer_saw_change(plumb_stacks_symbolizer, pid);
}

static int note_due(void *context, bool all, uint64_t *again)
{
	*again = plumb_symbolizer_note_due(plumb_stacks_symbolizer, false);
	plumb_unwind_renew(has_changed);
	*again = plumb_sooner(*again, plumb_unwind_due());
	return plumb_symbolizer_watches_only(plumb_stacks_symbolizer) ? PLUMB_DONE : 0;
}

static const struct plumb_ring_handlers notes = {NULL, note, note_due};

/*
 * The processes seen in stacks: their mappings are read while they exist, so that addresses can be
 * named after they have exited.
 */
const struct plumb_ring plumb_stacks_ring = {"plumb_processes", &notes, NULL};

#define TRUNCATED "[truncated]"

static void add_text(struct plumb_frames *f, const char *text)
{
	const size_t room = sizeof(f->text) / sizeof(f->text[0]);
	char *copy;

	if (f->n == room)
		return;
	copy = strdup(f->n == room - 1 ? TRUNCATED : text);
	if (!copy)
		abort();
	f->text[f->n++] = copy;
}

static void add_frame(struct plumb_frames *f, const struct plumb_frame_name *name)
{
	char text[FRAME];

	add_text(f, plumb_frame_name_text(name, text, sizeof(text)));
}

/* Reads a stack; false: there is none. */
static bool read_stack(struct plumb_frames *f, int map, __s32 number, struct plumb_stack *stack)
{
	if (number == PLUMB_LOST_STACK)
		add_text(f, "[stack lost]");
	return number >= 0 && !plumb_map_lookup(map, &number, stack);
}

static bool is_one_of(const struct plumb_frame_name *name, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n && name->function; i++)
		if (!strncmp(name->function, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/*
 * Counts the innermost frames, which are those of the BPF program and of its callers, not the
 * thread's own.  If the kernel has no names for programs, only their callers have names.
 */
static size_t count_own(const struct plumb_stack *stack)
{
	static const char *const prefixes[] = {
		"bpf_prog_",         "bpf_trace_run",  "__bpf_trace_",
		"__traceiter_",      "trace_call_bpf", "bpf_trampoline_",
		"ftrace_trampoline", "perf_trace_",    "perf_syscall_e"};
	struct plumb_frame_name name;
	size_t n = 0;

	for (size_t i = 0; i < stack->n; i++) {
		plumb_symbolize_kernel(plumb_stacks_symbolizer, stack->addresses[i], true, &name);
		if (is_one_of(&name, prefixes, sizeof(prefixes) / sizeof(prefixes[0])))
			n = i + 1;
		else if (name.function)
			break; /* such names further out are the thread's own */
	}
	/* On arm64 perf begins with the address that its function returns to, and finds it again.
	 */
	if (n + 1 < stack->n && stack->addresses[n] == stack->addresses[n + 1])
		n++;
	return n;
}

static void add_kernel(struct plumb_frames *f, int map, __s32 number, bool own)
{
	struct plumb_frame_name name;
	struct plumb_stack stack;

	if (read_stack(f, map, number, &stack)) {
		for (size_t i = own ? 0 : count_own(&stack); i < stack.n; i++) {
			plumb_symbolize_kernel(plumb_stacks_symbolizer, stack.addresses[i], i > 0,
					       &name);
			add_frame(f, &name);
		}
		if (stack.n >= deepest)
			add_text(f, TRUNCATED);
	}
	f->n_kernel = f->n;
}

/*
 * Whether the stack ends with FRAME, though the kernel went on: libc's code that calls main has no
 * frame pointers, and what it finds beyond is none of the thread's.
 */
static bool is_beyond(const struct plumb_frame_name *frame, const char *callee)
{
	const char *name = frame->function ?: "";

	return callee && (!strcmp(callee, "__libc_start_call_main") || !strcmp(callee, "_start") ||
			  (!strcmp(callee, "main") && strncmp(name, "__libc_start", 12)));
}

/* Why a walk went no further. */
static const char *const cut[PLUMB_WALKS] = {
	[PLUMB_WALK_NO_TABLE] = "[cut: no unwind table]",
	[PLUMB_WALK_LOST] = "[cut: a register is lost]",
	[PLUMB_WALK_MEMORY] = "[cut: not a stack]",
};

static void add_user(struct plumb_frames *f, int map, const struct plumb_stack_key *key)
{
	struct plumb_frame_name names[MAX_INLINED];
	const char *first = plumb_stacks_first ? plumb_stacks_first(key) : NULL;
	const char *callee = NULL;
	struct plumb_stack stack;
	char last[64];
	size_t m;

	if (!read_stack(f, map, key->user, &stack))
		return;
	f->is_whole = stack.walk == PLUMB_WALK_COMPLETE;
	for (size_t i = 0; i < stack.n; i++) {
		m = plumb_symbolize_user(plumb_stacks_symbolizer, key->tgid, stack.image,
					 stack.addresses[i], i > 0, names, MAX_INLINED);
		/*
		 * Code without frame pointers leaves any number in place of the return address.  If
		 * that is in no mapping, the frames end here.
		 */
		if (stack.walk == PLUMB_WALK_FP && is_beyond(&names[m ? m - 1 : 0], callee))
			return;
		if (!names[0].module && !i && first) {
			add_text(f, first);
			continue;
		}
		if (!names[0].module) {
			add_text(f, "[unknown]");
			return;
		}
		for (size_t j = 0; j < m; j++)
			add_frame(f, &names[j]);
		snprintf(last, sizeof(last), "%s", names[m ? m - 1 : 0].function ?: "");
		callee = last;
	}
	if (stack.n >= deepest)
		add_text(f, TRUNCATED);
	else if (cut[stack.walk % PLUMB_WALKS])
		add_text(f, cut[stack.walk]);
}

void plumb_frames_fill(struct plumb_frames *f, const struct bpf_object *object,
		       const struct plumb_stack_key *key, bool own)
{
	int map = bpf_object__find_map_fd_by_name(object, "plumb_stacks");

	f->n = f->n_kernel = f->is_whole = 0;
	add_kernel(f, map, key->kernel, own);
	add_user(f, map, key);
	f->in_rwlock = plumb_frames_are_in_rwlock(f);
}

void plumb_frames_name(struct plumb_frames *f, const struct bpf_object *object,
		       const struct plumb_stack_key *key)
{
	plumb_frames_fill(f, object, key, false);
}

/* A line of /proc/PID/stack is "[<0>] function+0x1f/0x40 [module]". */
static void add_proc_line(struct plumb_frames *f, char *line)
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
static void read_proc_stack(const struct plumb_flight *f, struct plumb_frames *frames)
{
	char text[16384], *rest = text, *line;

	plumb_thread_read(f->pid, f->tid, "stack", text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		add_proc_line(frames, line);
	frames->n_kernel = frames->n;
}

void plumb_stacks_name_flight(const struct plumb_run *run, const struct plumb_flight *f,
			      struct plumb_frames *frames)
{
	struct plumb_stack_key key = {.kernel = f->kernel, .user = f->user, .tgid = f->pid};

	*frames = (struct plumb_frames){};
	if (f->kernel == PLUMB_NO_STACK && f->user == PLUMB_NO_STACK)
		read_proc_stack(f, frames);
	else
		plumb_frames_name(frames, run->instance.bpf.object, &key);
}

void plumb_stacks_footer(FILE *out)
{
	const struct plumb_symbolizer_counts *c = plumb_symbolizer_counts(plumb_stacks_symbolizer);
	const char *obstacle = plumb_symbolizer_obstacle(plumb_stacks_symbolizer);
	char text[160];

	if (obstacle) {
		snprintf(text, sizeof(text), "symbols: %s", obstacle);
		plumb_print_wrapped(text, out);
	}
	if (c->foreign)
		fprintf(out, "symbols: %llu files of other users were not read\n",
			(unsigned long long)c->foreign);
	if (c->lost)
		fprintf(out,
			"symbols: %llu reports of what processes mapped were lost; names of "
			"processes that have ended can be missing\n",
			(unsigned long long)c->lost);
	if (c->unknown)
		fprintf(out, "symbols: %llu of %llu addresses have no function's name\n",
			(unsigned long long)c->unknown, (unsigned long long)c->addresses);
}

const struct plumb_stacking plumb_stacking_own = {
	.tables_due = plumb_unwind_due,
	.tables_full = plumb_unwind_is_full,
	.configure = plumb_stacks_configure,
	.fill = plumb_stacks_fill,
	.begin = plumb_stacks_begin,
	.ring = &plumb_stacks_ring,
	.flight = plumb_stacks_name_flight,
};

const struct plumb_stacking plumb_stacking_own_kernel = {
	.configure = plumb_stacks_configure_frames,
	.fill = plumb_stacks_fill,
	.begin = begin_kernel,
	.footer = plumb_stacks_footer,
};
