/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The commands that go on from a story. */
#include "story.h"
#include "words.h"

#include <plumb/core/text.h>
#include <plumb/syscalls/syscalls.h>

/* The filter of the command line, for another tool. */
static const char *filter_of(const struct part *p, const struct plumb_options *o, char *text,
			     size_t size)
{
	char comm[PLUMB_ESCAPED];
	int n = 0;

	*text = 0;
	if (o->n_pids) {
		n = snprintf(text, size, "-p %u", o->pids[0]);
		for (uint32_t i = 1; i < o->n_pids && n < (int)size; i++)
			n += snprintf(text + n, size - n, ",%u", o->pids[i]);
	} else if (o->n_cgroups) {
		snprintf(text, size, "-g %s", o->cgroups[0]);
	} else if (o->n_comms_typed) {
		snprintf(text, size, "-c %s", o->comms_typed[0]);
	} else if (o->n_tids) {
		n = snprintf(text, size, "-t %u", o->tids[0]);
		for (uint32_t i = 1; i < o->n_tids && n < (int)size; i++)
			n += snprintf(text + n, size - n, ",%u", o->tids[i]);
	} else if (!o->command) {
		return text;
	} else {
		plumb_escape(comm, p->comm, sizeof(comm));
		snprintf(text, size, "-c %s", comm);
	}
	return text;
}

/* A threshold below the mean wait of P, so that the long ones are printed, and not many. */
static const char *threshold(const struct part *p)
{
	const int64_t mean = p->count ? p->ns / (int64_t)p->count : 0;

	return mean >= 100000000  ? "100ms"
	       : mean >= 10000000 ? "10ms"
	       : mean >= 1000000  ? "1ms"
				  : "100us";
}

static void print_command(const struct account *a, const struct part *p, const char *filter,
			  FILE *out)
{
	char call[48];

	words_call(p, call, sizeof(call));
	switch (p->cause) {
	case CAUSE_USER:
	case CAUSE_IRQ:
	case CAUSE_KERNEL:
	case CAUSE_ON:
		fprintf(out, "  cpu-profile %s -d 5\n", filter);
		break;
	case CAUSE_CALL:
		fprintf(out, "  syscall-breakdown %s -s %s -d 5\n", filter, call);
		break;
	case CAUSE_FAULTING:
	case CAUSE_FAULT:
		fprintf(out, "  page-fault-latency %s -b tid -d 5\n", filter);
		break;
	case CAUSE_TAKEN:
	case CAUSE_IDLE_CPU:
	case CAUSE_QUOTA:
		fprintf(out, "  runq-latency %s --who -d 5\n", filter);
		break;
	case CAUSE_DISK:
	case CAUSE_LIMIT:
		fprintf(out, "  file-io-breakdown %s -d 5\n", filter);
		break;
	case CAUSE_TIMER:
		fprintf(out, "  syscall-slower %s -s %s %s --stacks -d 1\n", filter, call,
			threshold(p));
		break;
	default:
		if (p->cause == CAUSE_THREAD && a->is_crowded)
			fprintf(out, "  offcpu-time %s -b waker -n 5 -d 5\n", filter);
		else if (*call)
			fprintf(out, "  syscall-slower %s -s %s %s --wakers -d 1\n", filter, call,
				threshold(p));
		else
			fprintf(out, "  offcpu-time %s --wakers -n 5 -d 5\n", filter);
	}
}

/* For the two largest parts of which a tool has more to say. */
void story_print_next(const struct account *a, const struct plumb_options *o, FILE *out)
{
	const int64_t busy = a->ns - a->idle;
	const struct part *most;
	struct sum sums[CAUSES];
	char filter[256];
	int told = 0;

	story_sums(a, sums);
	for (int i = 0; i < CAUSES && told < 2 && story_share(sums[i].ns, busy) >= 5; i++) {
		if (sums[i].cause == CAUSE_STOPPED)
			continue;
		if (!told++)
			fprintf(out, "next:\n");
		most = story_largest(a, sums[i].cause, false);
		print_command(a, most, filter_of(most, o, filter, sizeof(filter)), out);
	}
}
