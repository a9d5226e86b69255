/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/json.h>
#include <plumb/text.h>
#include <plumb/waker.h>
#include <stdio.h>

const char *plumb_waker_text(const struct plumb_waker *w, char *text, size_t size)
{
	char comm[PLUMB_ESCAPED];

	plumb_escape(comm, w->comm, sizeof(comm));
	switch (w->kind) {
	case PLUMB_WAKER_THREAD:
	case PLUMB_PREEMPTER:
		snprintf(text, size, "%s by %s/%u",
			 w->kind == PLUMB_PREEMPTER ? "preempted" : "woken", comm,
			 w->tid ?: w->pid);
		break;
	case PLUMB_WAKER_INTERRUPT:
		snprintf(text, size, "woken by an interrupt");
		break;
	case PLUMB_PREEMPTER_IDLE:
		snprintf(text, size, "preempted, its CPU idle");
		break;
	default:
		*text = 0;
	}
	return text;
}

json_t *plumb_waker_json(const struct plumb_waker *w)
{
	bool is_thread = w->kind == PLUMB_WAKER_THREAD || w->kind == PLUMB_PREEMPTER;
	json_t *json;

	if (w->kind == PLUMB_WAKER_UNKNOWN)
		return json_null();
	json = json_object();
	json_object_set_new(json, "event",
			    json_string(w->kind >= PLUMB_PREEMPTER ? "preemption" : "wakeup"));
	json_object_set_new(json, "interrupt", json_boolean(w->kind == PLUMB_WAKER_INTERRUPT));
	json_object_set_new(json, "pid", is_thread ? json_integer(w->pid) : json_null());
	if (w->tid)
		json_object_set_new(json, "tid", is_thread ? json_integer(w->tid) : json_null());
	json_object_set_new(json, "comm", is_thread ? plumb_json_text(w->comm) : json_null());
	return json;
}
