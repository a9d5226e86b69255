/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/clock.h>
#include <plumb/core/memory.h>
#include <plumb/kernel/map.h>
#include <plumb/kernel/thread.h>

#include <bpf/libbpf.h>

#define SECONDS_TO_LOOK 2 /* at the threads of a large machine */

static int by_tid(const void *a, const void *b)
{
	const struct life *l = a, *m = b;

	return (l->tid > m->tid) - (l->tid < m->tid);
}

struct life *lives_find(const struct lives *lives, uint32_t tid)
{
	const struct life wanted = {.tid = tid};

	return lives->n ? bsearch(&wanted, lives->all, lives->n, sizeof(wanted), by_tid) : NULL;
}

static struct life *add(struct lives *lives, uint32_t pid, uint32_t tid)
{
	struct life *life = plumb_append(lives->all, lives->n);

	*life = (struct life){.pid = pid, .tid = tid};
	return life;
}

/* --- /proc --- */

/* Lines "[<0>] function+0x1/0x2 [module]". */
static void read_frames(struct plumb_frames *frames, char *text)
{
	const size_t room = sizeof(frames->text) / sizeof(frames->text[0]);
	char *line, *rest = NULL, *name;

	for (line = strtok_r(text, "\n", &rest); line && frames->n < room - 1;
	     line = strtok_r(NULL, "\n", &rest)) {
		name = strstr(line, "] ");
		if (!name)
			continue;
		name += 2;
		name[strcspn(name, "+ ")] = 0;
		frames->text[frames->n++] = plumb_copied(name);
	}
	frames->n_kernel = frames->n;
}

static void look(uint32_t pid, uint32_t tid, struct spot *spot)
{
	struct plumb_thread_stat stat;
	char text[4096];
	unsigned long op;
	long number;

	if (plumb_thread_stat(pid, tid, &stat))
		return;
	spot->state = stat.state;
	if (stat.state == 'R' || plumb_thread_read(pid, tid, "syscall", text, sizeof(text)))
		return;
	if (sscanf(text, "%ld %*x %lx", &number, &op) == 2 && number >= 0 &&
	    number < (long)WALL_CALL)
		spot->what = (number + 1) | (op & WALL_OP) << WALL_OP_SHIFT;
	if (!plumb_thread_read(pid, tid, "stack", text, sizeof(text)))
		read_frames(&spot->frames, text);
}

/* --- the beginning --- */

static struct lives first;
static const struct plumb_run *looking;

static void look_first(void *context, uint32_t pid, uint32_t tid)
{
	struct lives *lives = context;

	if (plumb_thread_is_named(&looking->options, pid, tid))
		look(pid, tid, &add(lives, pid, tid)->first);
}

void lives_begin(const struct plumb_run *run)
{
	looking = run;
	plumb_threads_each(run, plumb_now() + SECONDS_TO_LOOK * PLUMB_SECOND, look_first, &first);
	if (first.n)
		qsort(first.all, first.n, sizeof(*first.all), by_tid);
}

/* --- the end --- */

struct looking {
	const struct plumb_run *run;
	struct lives *lives, more; /* MORE: those that are in no row */
	uint64_t began, now;
};

static uint32_t member(const struct bpf_object *object, const void *value, const char *name)
{
	return *(const uint32_t *)((const char *)value +
				   plumb_states_offset(object, "wall_thread", name));
}

static uint64_t word(const struct bpf_object *object, const void *value, const char *name)
{
	return plumb_state_word(value, plumb_states_offset(object, "wall_thread", name));
}

/* The key of the row that the time off the CPU of a thread will be in, but for who ends it. */
static struct wall_key *off_key(const struct bpf_object *o, const void *value)
{
	struct wall_key *key = plumb_zeroed(1, sizeof(*key));
	const uint32_t how = member(o, value, "how");

	key->stack.kernel = key->stack.user = PLUMB_NO_STACK;
	key->kind = how == WALL_SLEPT           ? WALL_ASLEEP
		    : how == WALL_WAS_STOPPED   ? WALL_STOPPED
		    : how == WALL_WAS_THROTTLED ? WALL_THROTTLED
						: WALL_RUNNABLE;
	if (key->kind != WALL_ASLEEP && key->kind != WALL_STOPPED)
		return key;
	key->stack.kernel = (int32_t)member(o, value, "kernel");
	key->stack.user = (int32_t)member(o, value, "user");
	key->stack.tgid = member(o, value, "tgid");
	key->stack.what = member(o, value, "what");
	key->device = member(o, value, "device");
	key->peer = word(o, value, "peer");
	return key;
}

/*
 * States are read before the rows: were a state newer, what the thread did until then would be
 * taken for what it does now.
 */
static struct seen {
	uint32_t pid, tid;
	uint64_t from, until, came;
	struct wall_key *key;
	uint64_t end;     /* of what counts, since the thread is not traced any more; 0: it is */
	uint64_t changed; /* it was not when it left; since then it is; 0: it is not */
	bool is_out;
} * seen;
static size_t n_seen;

/* Whether the thread of TASK is traced, by its name now, and since when. */
static void judge_seen(const struct plumb_run *run, struct seen *s, uint64_t task, bool is_out)
{
	const int map = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "wall_changes");
	const bool is_named = plumb_thread_is_named(&run->options, s->pid, s->tid);
	uint64_t changed = 0;

	if ((is_out || !is_named) && plumb_map_lookup(map, &task, &changed))
		changed = 0;
	s->is_out = is_out;
	if (is_out)
		s->changed = is_named ? changed : 0;
	else if (!is_named)
		s->end = changed > s->until ? changed : s->until;
}

static void keep_state(void *context, const struct plumb_state *state)
{
	const struct plumb_run *run = context;
	const struct bpf_object *o = run->instance.bpf.object;
	const uint64_t until = word(o, state->value, "until");

	if (!until)
		return;
	*plumb_append(seen, n_seen) = (struct seen){
		.pid = state->pid,
		.tid = state->tid,
		.from = word(o, state->value, "from"),
		.until = until,
		.came = plumb_states_came(run, word(o, state->value, "task")),
		.key = off_key(o, state->value),
	};
	judge_seen(run, &seen[n_seen - 1], word(o, state->value, "task"),
		   member(o, state->value, "out"));
}

void lives_look(const struct plumb_run *run)
{
	for (size_t i = 0; i < n_seen; i++)
		free(seen[i].key);
	n_seen = 0;
	plumb_states_each(run, plumb_now() + SECONDS_TO_LOOK * PLUMB_SECOND, keep_state,
			  (void *)run);
}

static void take_seen(struct looking *l, const struct seen *s)
{
	struct life *life = lives_find(l->lives, s->tid);
	const uint64_t now = s->end && s->end < l->now ? s->end : l->now;
	uint64_t ns;

	if (s->is_out || s->from > now)
		return;
	if (!life)
		life = add(&l->more, s->pid, s->tid);
	/* Rows may be newer.  If some were lost, the second is less. */
	ns = now - s->from - life->in_rows;
	if (now - s->from < life->in_rows)
		ns = 0;
	if (now - s->until < ns)
		ns = now - s->until;
	life->alive = true;
	life->on = s->came && s->came < now ? now - s->came : 0;
	if (life->on > ns)
		life->on = ns;
	life->off = ns - life->on;
	life->off_key = s->key;
}

static const struct seen *find_out(uint32_t tid)
{
	for (size_t i = 0; i < n_seen; i++)
		if (seen[i].is_out && seen[i].tid == tid)
			return &seen[i];
	return NULL;
}

/*
 * A thread without a state has not left its CPU, or not got one, since the trace began.  One that
 * was not traced when it left may be now.
 */
static void look_last(void *context, uint32_t pid, uint32_t tid)
{
	struct looking *l = context;
	struct life *life = lives_find(l->lives, tid);
	uint64_t alive = l->now - l->began;
	const struct seen *out;

	if (life && life->alive)
		return;
	if (!plumb_thread_is_named(&l->run->options, pid, tid))
		return;
	out = find_out(tid);
	if (out && (!out->changed || out->changed > l->now))
		return;
	if (out)
		alive = l->now - out->changed;
	if (!life)
		life = add(&l->more, pid, tid);
	if (life->alive || (life->in_rows && !out))
		return;
	life->alive = true;
	plumb_thread_comm(pid, tid, life->comm);
	look(pid, tid, &life->last);
	if (life->last.state == 'R')
		life->on = alive;
	else
		life->off = alive;
}

static void add_rows(struct lives *lives, const struct plumb_snapshot *snap)
{
	const struct wall_key *key;
	struct life *life;

	for (size_t i = 0; i < snap->n; i++) {
		key = snap->rows[i].key;
		if (!snap->rows[i].slot)
			continue;
		life = add(lives, key->stack.who.pid, key->stack.who.tid);
		if (key->kind != WALL_SAMPLE && key->kind != WALL_INTERRUPT)
			life->in_rows = snap->rows[i].sum;
		memcpy(life->comm, key->stack.who.comm, sizeof(life->comm));
	}
}

static int by_name(const void *a, const void *b)
{
	const struct life *l = a, *m = b;

	return by_tid(a, b) ?: memcmp(l->comm, m->comm, sizeof(l->comm));
}

/* Joins those for which SAME is 0; the name is that with the most time. */
static void join(struct lives *lives, int (*same)(const void *a, const void *b))
{
	uint64_t most = 0;
	struct life *last;
	size_t n = 0;

	if (lives->n)
		qsort(lives->all, lives->n, sizeof(*lives->all), same);
	for (size_t i = 0; i < lives->n; i++) {
		const struct life life = lives->all[i];

		last = n ? &lives->all[n - 1] : NULL;
		if (!last || same(last, &life)) {
			most = life.in_rows;
			lives->all[n++] = life;
			continue;
		}
		if (life.in_rows > most) {
			most = life.in_rows;
			memcpy(last->comm, life.comm, sizeof(last->comm));
		}
		last->in_rows += life.in_rows;
	}
	lives->n = n;
}

struct lives lives_of(const struct plumb_run *run, const struct plumb_snapshot *snap,
		      uint64_t began)
{
	struct lives lives = {};
	struct looking l = {run, &lives, .began = began, .now = snap->clock};
	const uint64_t deadline = plumb_now() + SECONDS_TO_LOOK * PLUMB_SECOND;
	const int waiters =
		bpf_object__find_map_fd_by_name(run->instance.bpf.object, "wall_waiters");
	const struct life *known;

	add_rows(&lives, snap);
	join(&lives, by_name);
	join(&lives, by_tid);
	for (size_t i = 0; i < n_seen; i++)
		take_seen(&l, &seen[i]);
	for (size_t i = 0; i < l.more.n; i++)
		*add(&lives, 0, 0) = l.more.all[i];
	free(l.more.all);
	l.more = (struct lives){};
	join(&lives, by_tid);
	plumb_threads_each(run, deadline, look_last, &l);
	for (size_t i = 0; i < l.more.n; i++)
		*add(&lives, 0, 0) = l.more.all[i];
	free(l.more.all);
	join(&lives, by_tid);
	for (size_t i = 0; i < lives.n; i++) {
		known = lives_find(&first, lives.all[i].tid);
		if (known)
			lives.all[i].first = known->first;
		if (plumb_map_lookup(waiters, &lives.all[i].tid, &lives.all[i].waiter))
			lives.all[i].waiter.kind = 0;
	}
	return lives;
}

void lives_free(struct lives *lives)
{
	for (size_t i = 0; i < lives->n; i++)
		plumb_frames_free(&lives->all[i].last.frames);
	free(lives->all);
	*lives = (struct lives){};
}
