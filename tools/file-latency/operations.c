/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "operations.h"

#include <inttypes.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/program.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/kernel/map.h>
#include <plumb/syscalls/untimed.h>

#include <bpf/libbpf.h>

#include "fields.h"

/* In plumb_flight.what: it is an operation, not the number of a function. */
#define IS_OPERATION (1U << 16)

static const __u32 *target_ops;

/* Requests of AIO that the last list has left out. */
static uint64_t left_out, listed; /* ns, CLOCK_MONOTONIC: the time of that list */

static const char *const untimed[] = {"io_submit (AIO)", "msync", "truncate",
				      "fallocate",       "sync",  NULL};

void operations_use_untimed(const struct bpf_object *o)
{
	plumb_untimed_use(o, untimed);
}

void operations_use(const __u32 *targets)
{
	target_ops = targets;
}

/*
 * With tracepoints the state is that of file-latency-raw.bpf.c.  Of functions it has the calls that
 * have ended, and whose threads wait on their way out.
 */
void operations_describe(const struct plumb_run *run, const struct plumb_state *state,
			 struct plumb_flight *f)
{
	const bool function = run->instance.bpf.function;
	const struct bpf_object *o = run->instance.bpf.object;
	static int op;

	if (!op && function)
		op = plumb_states_offset(o, "function_thread", "last") +
		     plumb_states_offset(o, "file_call", "op");
	else if (!op)
		op = plumb_states_offset(o, "file_thread", "op");
	f->what = (uint32_t)plumb_state_word(state->value, op) | IS_OPERATION;
}

/*
 * Whether a completion of AIO may have been missed. Those of kprobe programs, which an interrupt of
 * another one skips, the kernel does not tell.
 */
static bool aio_may_be_unseen(const struct plumb_run *run)
{
	const struct bpf_object *o = run->instance.bpf.object;
	struct bpf_program *by_kprobe = bpf_object__find_program_by_name(o, "aio_complete_kprobe"),
			   *by_fentry = bpf_object__find_program_by_name(o, "aio_complete_fentry");
	uint64_t n = 0;

	if (by_kprobe && bpf_program__autoload(by_kprobe))
		return true;
	if (by_fentry && bpf_program__autoload(by_fentry))
		plumb_program_missed(bpf_program__fd(by_fentry), &n);
	return n;
}

void operations_read_uring(const struct plumb_run *run, struct plumb_flights *to)
{
	int map = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "uring_requests");
	const bool unseen = aio_may_be_unseen(run);
	const struct uring_request *r, *end;
	struct plumb_elements requests = {};

	left_out = 0;
	listed = to->taken;
	plumb_map_read(map, &requests);
	r = requests.values;
	for (end = r + requests.n; r < end; r++) {
		/* It may have ended: that is no evidence of one that hangs. */
		if (r->start && r->op & FILE_BY_AIO && unseen)
			left_out++;
		else if (r->start)
			plumb_flights_add(to, &PLUMB_FLIGHT(r->pid, r->tid, .start = r->start,
							    .what = r->op | IS_OPERATION));
	}
	plumb_elements_free(&requests);
}

void operations_print(FILE *out)
{
	char text[256];

	plumb_untimed_print(out);
	if (!left_out)
		return;
	snprintf(text, sizeof(text),
		 "AIO: %" PRIu64 " requests are not listed as in flight, since they may have "
		 "ended: the kernel can skip the program for a completion",
		 left_out);
	plumb_print_wrapped(text, out);
}

void operations_json(json_t *json, const struct plumb_report *r)
{
	const bool looked = r->flights && r->flights->taken == listed;

	plumb_untimed_json(json);
	json_object_set_new(json, "aio_not_listed",
			    looked ? plumb_json_u64(left_out) : json_null());
}

void operations_name(const struct plumb_run *run, const struct plumb_flight *f, char *text,
		     size_t size)
{
	if (f->what & IS_OPERATION)
		file_op_format(f->what & ~IS_OPERATION, text, size);
	else
		file_op_format(target_ops[f->what & (FILE_TARGETS - 1)], text, size);
}
