/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* exchange: a request begins, is read by a thread, and ends. */
#pragma once

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include "uses.bpf.h"
#include "record.bpf.h"

#define MSG_DONTWAIT 0x40

/* --- it begins and ends --- */

/* FROM: of TCP, the number of its first byte. */
static __always_inline void open_request(struct request_socket *s, __u64 first, __u32 from)
{
	s->from = from;
	s->second = 0;
	s->sent = 0;
	s->mixed = 0;
	s->first = first;
}

/*
 * S->read, which is 0 from now on; of two CPUs one gets it.  Before 5.12 the loader makes a store
 * of the exchange (plumb_exchanges_to_stores()): there both can get it.
 */
static __always_inline __u64 request_take(struct request_socket *s)
{
	__u64 read = s->read, taken;

	if (!read)
		return 0;
	taken = __sync_lock_test_and_set(&s->read, 0);
	return request_config.exchanges ? taken : read;
}

static __noinline int request_ends(const struct sock *sk, struct request_socket *s, __u64 read,
				   __u32 written, __u64 now)
{
	__u32 cpu = bpf_get_smp_processor_id(), known;
	__u64 end;

	if (!s) /* for the verifier */
		return 0;
	known = s->known;
	s->known = 1;
	if (s->rejected)
		return 0;
	if (!known) {
		ledger_count(cpu, unmatched);
		return 0;
	}
	if (s->mixed) {
		ledger_count(cpu, unpaired);
		return 0;
	}
	if (written == s->unsent) {
		ledger_count(cpu, abandoned);
		return 0;
	}
	end = s->path || request_config.early || s->is_sent == written ? s->sent : now;
	if (!end)
		end = now;
	if (!s->slots[REQUEST_WHOLE] && end - s->first >= request_config.min_ns)
		find_rows(sk, s);
	return record(s, read, end);
}

/* WRITTEN: socket_written() now.  When the reply is still being sent, it has ended by NOW. */
static __always_inline void close_request(const struct sock *sk, struct request_socket *s,
					  __u32 written, __u64 now)
{
	__u64 read = request_take(s);

	if (read)
		request_ends(sk, s, read, written, now);
}

/* --- it is read --- */

/* Whether the thread had read a request, and not replied, when it left its CPU last. */
static __always_inline bool was_serving(const struct request_thread *t)
{
	struct request_socket *s = bpf_map_lookup_elem(&request_sockets, &t->serves);

	return s && s->read && s->read <= t->last_left && (!s->sent || s->sent >= t->last_left);
}

/* What the current thread, which has read what arrived at S->first, did until it had its CPU. */
static __always_inline void divide_queue(struct request_socket *s, const struct request_thread *t,
					 struct task_struct *task, __u32 cpu)
{
	const struct sched_stay *stay = sched_own_stay(task, cpu);
	__u64 since, left = t->last_left > s->first ? t->last_left : s->first;

	s->late = s->asleep = 0;
	if (!stay || stay->began <= s->first || was_serving(t))
		return;
	since = t->last_how != LEFT_ASLEEP ? left : stay->since ?: stay->began;
	if (since > stay->began)
		since = stay->began;
	if (since < left)
		since = left;
	s->late = stay->began - since;
	s->asleep = since - left;
}

/* S is read from now on: what the thread has done before does not count. */
static __always_inline void account_begins(struct request_socket *s, const struct request_thread *t)
{
	__u32 i;

	for (i = 0; i < REQUEST_ACCOUNTS; i++)
		s->account[i] = t->account[i];
	for (i = 0; i < REQUEST_USES && i < t->n_uses; i++)
		s->before[i] = t->uses[i].ns;
	s->n_before = t->n_uses;
	s->n_uses = 0;
}

/* What the thread has done since. */
static __noinline int account_ends(struct request_socket *s, const struct request_thread *t,
				   __u64 now)
{
	__u64 before;
	__u32 i;

	if (!s || !t) /* for the verifier */
		return 0;
	for (i = 0; i < REQUEST_ACCOUNTS; i++)
		s->service[i] = t->account[i] - s->account[i];
	for (i = 0; i < REQUEST_USES && i < t->n_uses; i++) {
		before = i < s->n_before ? s->before[i] : 0;
		s->uses[i].what = t->uses[i].what;
		s->uses[i].ns = t->uses[i].ns - before;
	}
	s->n_uses = t->n_uses;
	if (!request_config.slower || now - s->first < request_config.min_ns)
		return 0;
	for (i = 0; i < REQUEST_SPANS; i++)
		s->spans[i] = t->spans[(t->span + i) % REQUEST_SPANS];
	return 0;
}

static __always_inline void name_reader(struct request_socket *s, struct task_struct *task)
{
	const __u64 *raw = (const __u64 *)task->comm;

	if (plumb_config.task_storage) {
		((__u64 *)s->comm)[0] = raw[0];
		((__u64 *)s->comm)[1] = raw[1];
	} else {
		bpf_get_current_comm(s->comm, sizeof(s->comm));
	}
}

/* The rows of S stay the same as long as the same thread reads it. */
static __always_inline void key_reader(struct request_socket *s, struct task_struct *task,
				       __u32 cpu)
{
	__u64 *had = (__u64 *)&s->who, *has, differs = 0;
	struct plumb_who who = {};
	__u32 i;

	key_current(&who, task, cpu);
	key_trim(&who);
	has = (__u64 *)&who;
	for (i = 0; i < sizeof(who) / 8; i++) {
		differs |= had[i] ^ has[i];
		had[i] = has[i];
	}
	if (differs)
		for (i = 0; i < REQUEST_STAGES; i++)
			s->slots[i] = 0;
}

static __noinline int first_read(struct request_socket *s, struct request_thread *t, __u64 sk,
				 __u64 now)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();

	if (!s || !t) /* for the verifier */
		return 0;
	thread_accounts(t, now);
	divide_queue(s, t, task, cpu);
	t->serves = sk;
	t->asked = 0;
	account_begins(s, t);
	s->pid = current_pid(task);
	s->tid = current_tid(task);
	name_reader(s, task);
	key_reader(s, task, cpu);
	return 0;
}

static __always_inline void request_is_read(const struct sock *sk, struct request_socket *s,
					    struct task_struct *task, __u32 written, __u64 now)
{
	struct request_thread *t;

	s->rejected = !filter_thread(task) || !filter_entry(task);
	s->unsent = written;
	s->sent = 0;
	s->sender = 0;
	s->reader = (__u64)task;
	t = s->rejected ? NULL : inflight_make(task);
	if (t)
		first_read(s, t, (__u64)sk, now);
	else if (!s->rejected) {
		s->rejected = 1;
		ledger_count(bpf_get_smp_processor_id(), no_state);
	}
	if (!s->rejected && s->known)
		ledger_count(bpf_get_smp_processor_id(), began);
	barrier();
	s->read = now;
}

/*
 * What arrived before a reply, and was not read until then, is another request.  If it was read
 * before, it is the rest of this one if the thread waited for it: then it does nothing else
 * meanwhile.  Else it can be either.
 *
 * The other end of a unix connection queues data before it says so: they can be read first.
 */
static __always_inline void read_again(const struct sock *sk, struct request_socket *s,
				       struct task_struct *task, __u32 flags, __u32 written,
				       __u64 now)
{
	__u64 second = s->second;

	if (second ? !socket_took_second(sk, s) : !s->drained)
		return;
	if (written == s->unsent) {
		if (s->reader != (__u64)task || flags & MSG_DONTWAIT)
			s->mixed = 1;
		s->second = 0;
	} else if (second || s->path) {
		close_request(sk, s, written, now);
		open_request(s, second ?: now, s->second_from);
	} else { /* of TCP, what arrived was missed */
		s->mixed = 1;
	}
}

static __always_inline void data_read(const struct sock *sk, struct request_socket *s,
				      struct task_struct *task, __u32 flags)
{
	__u32 written = socket_written(sk, s);
	__u64 now = bpf_ktime_get_ns();

	if (s->over || (!s->first && !s->path))
		return;
	if (!s->first)
		open_request(s, now, 0);
	if (s->read)
		read_again(sk, s, task, flags, written, now);
	else if (s->second && socket_took_second(sk, s))
		s->second = 0; /* all in one read */
	if (!s->read)
		request_is_read(sk, s, task, written, now);
	s->drained = socket_is_drained(sk, s);
}
