/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The arguments and the result of a slow call. */
#include "slower.h"

#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/reasons.h>
#include <plumb/functions/formats.h>
#include <plumb/functions/tracepoints.h>
#include <plumb/syscalls/arguments.h>
#include <plumb/syscalls/descriptors.h>
#include <plumb/syscalls/syscalls.h>

#define MAX_ARGUMENTS 6
#define ARGUMENT_LEN  (PLUMB_DESCRIPTOR_TEXT + 64)

/* From 7.0 on there are also copies of data that some arguments point to (is_dynamic). */
static int count(const struct plumb_format *format)
{
	int n = 0;

	for (size_t i = 0; i < format->n; i++) {
		const struct plumb_format_field *f = &format->fields[i];

		n += !f->is_common && !f->is_dynamic && strcmp(f->name, "__syscall_nr") != 0;
	}
	return n;
}

static int tracefs = -1; /* stays open until the process ends */

/* Before the tool is confined: opens tracefs, which may have to be mounted. */
void arguments_begin(void)
{
	plumb_peers_retain();
	if (tracefs < 0)
		tracefs = plumb_tracefs_try();
}

static int look_up(const char *name)
{
	struct plumb_format format;
	char event[80];
	int n;

	snprintf(event, sizeof(event), "sys_enter_%s", name);
	if (tracefs < 0 || plumb_format_read(tracefs, "syscalls", event, &format))
		return MAX_ARGUMENTS;
	n = count(&format);
	plumb_format_free(&format);
	return n < MAX_ARGUMENTS ? n : MAX_ARGUMENTS;
}

/*
 * The number of arguments that the call's tracepoint (sys_enter_NAME) declares.  MAX_ARGUMENTS if
 * that is not known, so that all registers are shown: for 32-bit calls, which pass a 64-bit
 * argument in two registers, for calls whose tracepoint has another name, and without tracefs.
 */
static int arguments_of(uint32_t nr, uint32_t abi)
{
	static int8_t known[1024]; /* number of arguments + 1; 0: not looked up yet */
	const struct plumb_syscall_table *table = &plumb_syscall_tables[PLUMB_ABI_NATIVE];

	if (abi != PLUMB_ABI_NATIVE || nr >= sizeof(known) || nr >= table->n || !table->names[nr])
		return MAX_ARGUMENTS;
	if (!known[nr])
		known[nr] = 1 + look_up(table->names[nr]);
	return known[nr] - 1;
}

/* Calls that are to be recorded again: what their descriptors are. */
#define RECALLED 256
static struct slow_record recalled[RECALLED];
static size_t n_recalled;

/* What the descriptors of C are, an array of 2. */
static const struct plumb_descriptor *descriptors_of(const struct slow_call *c)
{
	const struct slow_record *r = (const struct slow_record *)c; /* its first member */

	for (size_t i = 0; i < RECALLED && c->replaces; i++)
		if (recalled[i].call.end == c->replaces && recalled[i].call.tid == c->tid)
			return recalled[i].descriptors;
	return r->descriptors;
}

void arguments_recall(const struct slow_call *c)
{
	struct slow_record r = {.call = *c};

	memcpy(r.descriptors, descriptors_of(c), sizeof(r.descriptors));
	if (r.descriptors[0].kind || r.descriptors[1].kind)
		recalled[n_recalled++ % RECALLED] = r;
}

/* Texts of a call's descriptors, by argument, and of the descriptor that it returned. */
struct described {
	char texts[2][PLUMB_DESCRIPTOR_TEXT];
	const char *of[6], *result, *polled;
};

/* Whether a thread in call NR (and 1; 0: in none) can have used a pipe. */
static bool uses_pipes(uint32_t nr)
{
	static const char *const calls[] = {"read",     "readv",  "write", "writev",
					    "sendfile", "splice", "tee",   "vmsplice"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && nr; i++)
		if (plumb_syscall_number(calls[i], PLUMB_ABI_NATIVE) == (int)nr - 1)
			return true;
	return false;
}

/*
 * The process at the other end of a descriptor of C.  A writer may have exited since it ended the
 * sleep of the reader, when nobody has its end open any more: then its wakeup tells.
 */
static void find_peer(const struct slow_call *c, const struct plumb_descriptor *d,
		      struct plumb_peer *peer)
{
	const struct plumb_waker *w = &c->woken_by;

	/* Over the loopback device the sender's softirq wakes the receiver, on top of it. */
	if (plumb_peer_find(d, c->pid,
			    w->kind == PLUMB_WAKER_THREAD || w->kind == PLUMB_WAKER_SOFTIRQ ? w->pid
											    : 0,
			    peer) ||
	    d->kind != PLUMB_DESCRIPTOR_PIPE || w->kind != PLUMB_WAKER_THREAD || !w->pid ||
	    !uses_pipes(w->call))
		return;
	peer->source = PLUMB_PEER_WAKEUP;
	peer->pid = w->pid;
	memcpy(peer->comm, w->comm, sizeof(peer->comm));
}

static void describe(const struct slow_call *c, struct described *to)
{
	const struct plumb_descriptor *d = descriptors_of(c);
	struct plumb_peer peer;

	*to = (struct described){};
	for (int i = 0; i < 2; i++) {
		if (!d[i].kind)
			continue;
		/* The line names its own process already. */
		find_peer(c, &d[i], &peer);
		plumb_descriptor_text(&d[i], peer.pid == c->pid ? NULL : &peer, to->texts[i],
				      sizeof(to->texts[i]));
		if (d[i].argument == SYSCALL_RESULT)
			to->result = to->texts[i];
		else if (d[i].argument == SYSCALL_POLLED)
			to->polled = to->texts[i];
		else if (d[i].argument && d[i].argument <= 6)
			to->of[d[i].argument - 1] = to->texts[i];
	}
}

static struct plumb_call call_of(const struct slow_call *c, const struct described *described)
{
	struct plumb_call call = {
		.descriptors = described->of,
		.nr = c->nr,
		.abi = c->abi,
		.began = c->end - c->ns,
		.time = c->asked_known ? c->asked : NULL,
	};

	memcpy(call.arguments, c->arguments, sizeof(call.arguments));
	return call;
}

/* How many arguments are printed; those of a call that is not known are numbers. */
static int printed_arguments(const struct slow_call *c)
{
	int n = c->has_arguments ? plumb_call_arguments(c->nr, c->abi) : 0;

	return n < 0 ? arguments_of(c->nr, c->abi) : n;
}

static bool has_failed(const struct slow_call *c)
{
	return c->ret < 0 && c->ret >= -4095;
}

/* Whether the call returns an address, which arguments of others have in hex. */
static bool returns_address(const struct slow_call *c)
{
	static const char *const calls[] = {"mmap", "mmap2", "mremap", "brk", "shmat"};
	const char *name = plumb_syscall_known(c->nr, c->abi);

	for (size_t i = 0; name && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(name, calls[i]))
			return true;
	return false;
}

void arguments_print(const struct slow_call *c, FILE *out)
{
	struct described described;
	struct plumb_call call;
	const int n = printed_arguments(c);
	char text[ARGUMENT_LEN];

	describe(c, &described);
	call = call_of(c, &described);
	fprintf(out, "%s(", plumb_syscall_name(c->nr, c->abi, text, sizeof(text)));
	for (int i = 0; i < n; i++)
		if (*plumb_call_argument(&call, i, text, sizeof(text)))
			fprintf(out, "%s%s", i ? ", " : "", text);
	if (!c->has_arguments)
		fputc('?', out);
	if (c->at_most)
		fputs(") = ?", out);
	else if (has_failed(c))
		fprintf(out, ") = -%s", plumb_errno_name(c->ret));
	else if (returns_address(c))
		fprintf(out, ") = %#llx", (long long)c->ret);
	else
		fprintf(out, ") = %lld%s", (long long)c->ret, described.result ?: "");
	if (described.polled)
		fprintf(out, ", %s %d%s",
			c->ret ? "ready:" : "not ready:", descriptors_of(c)->polled,
			described.polled);
}

/* By name; null: an argument that this call does not use. */
static json_t *json_of_arguments(const struct slow_call *c)
{
	struct described described;
	struct plumb_call call;
	json_t *texts = json_array();
	char text[ARGUMENT_LEN];

	describe(c, &described);
	call = call_of(c, &described);
	if (!c->has_arguments) {
		json_decref(texts);
		return json_null();
	}
	for (int i = 0; i < printed_arguments(c); i++)
		json_array_append_new(texts, *plumb_call_argument(&call, i, text, sizeof(text))
						     ? json_string(text)
						     : json_null());
	return texts;
}

/* Those that are known to be something, in the order of the arguments; the result's is last. */
static json_t *json_of_descriptors(const struct slow_call *c)
{
	const struct plumb_descriptor *d = descriptors_of(c);
	json_t *list = json_array();

	for (int i = 0; i < 2; i++) {
		const int number = d[i].argument == SYSCALL_RESULT ? c->ret
				   : d[i].argument == SYSCALL_POLLED
					   ? d[i].polled
					   : (int)c->arguments[(d[i].argument - 1) % 6];
		struct plumb_peer peer;

		if (!d[i].kind)
			continue;
		find_peer(c, &d[i], &peer);
		json_array_append_new(list, plumb_descriptor_json(&d[i], &peer, number));
	}
	return list;
}

void arguments_add_json(const struct slow_call *c, json_t *j)
{
	json_t *numbers = c->has_arguments ? json_array() : json_null();
	const int n = c->has_arguments ? arguments_of(c->nr, c->abi) : 0;

	for (int i = 0; i < n; i++)
		json_array_append_new(numbers, json_integer(c->arguments[i]));
	json_object_set_new(j, "arguments", numbers);
	json_object_set_new(j, "argument_text", json_of_arguments(c));
	json_object_set_new(j, "descriptors", json_of_descriptors(c));
	json_object_set_new(j, "ret", c->at_most ? json_null() : json_integer(c->ret));
	json_object_set_new(j, "error",
			    has_failed(c) ? json_string(plumb_errno_name(c->ret)) : json_null());
}
