/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <plumb/core/text.h>
#include <plumb/split/waker.h>

static const struct {
	const char *text, *event, *context;
	bool has_thread;
} kinds[] = {
	[PLUMB_WAKER_THREAD] = {"woken by", "wakeup", "thread", true},
	[PLUMB_WAKER_SOFTIRQ] = {"woken by a softirq on", "wakeup", "softirq", true},
	[PLUMB_WAKER_EITHER] = {"woken by a softirq or interrupt on", "wakeup",
				"softirq or interrupt", true},
	[PLUMB_WAKER_INTERRUPT] = {"woken by an interrupt", "wakeup", "interrupt", false},
	[PLUMB_PREEMPTER] = {"preempted by", "preemption", "thread", true},
	[PLUMB_PREEMPTER_IDLE] = {"preempted, its CPU idle", "preemption", "idle", false},
	[PLUMB_THROTTLED] = {"out of CPU quota", "throttling", "quota", false},
	[PLUMB_WAKER_TIMER] = {"woken by a timer", "wakeup", "interrupt", false},
	[PLUMB_WAKER_DEVICE] = {"woken by device", "wakeup", "interrupt", false},
	[PLUMB_OWNER_SLEEPS] = {"the owner slept in", "sleep", "owner", false},
	[PLUMB_OWNER_RELEASES] = {"the owner released it in", "release", "owner", false},
};

static bool is_known(const struct plumb_waker *w)
{
	return w->kind && w->kind < sizeof(kinds) / sizeof(kinds[0]);
}

const char *plumb_waker_text(const struct plumb_waker *w, char *text, size_t size)
{
	char comm[PLUMB_ESCAPED];

	*text = 0;
	if (!is_known(w))
		return text;
	plumb_escape(comm, w->comm, sizeof(comm));
	if (kinds[w->kind].has_thread)
		snprintf(text, size, "%s %s/%u", kinds[w->kind].text, comm, w->tid ?: w->pid);
	else if (w->kind == PLUMB_WAKER_DEVICE)
		snprintf(text, size, "%s %s", kinds[w->kind].text, comm);
	else
		snprintf(text, size, "%s", kinds[w->kind].text);
	return text;
}

json_t *plumb_waker_json(const struct plumb_waker *w)
{
	char comm[PLUMB_ESCAPED];
	json_t *json;
	bool thread;

	if (!is_known(w))
		return json_null();
	plumb_escape(comm, w->comm, sizeof(comm));
	thread = kinds[w->kind].has_thread;
	json = json_object();
	json_object_set_new(json, "event", json_string(kinds[w->kind].event));
	json_object_set_new(json, "context", json_string(kinds[w->kind].context));
	json_object_set_new(json, "pid", thread ? json_integer(w->pid) : json_null());
	if (w->tid)
		json_object_set_new(json, "tid", thread ? json_integer(w->tid) : json_null());
	json_object_set_new(json, "comm", thread ? json_string(comm) : json_null());
	if (w->kind == PLUMB_WAKER_TIMER || w->kind == PLUMB_WAKER_DEVICE)
		json_object_set_new(json, "device",
				    w->kind == PLUMB_WAKER_DEVICE ? json_string(comm)
								  : json_null());
	return json;
}
