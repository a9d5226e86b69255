/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/sched/return.h>
#include <plumb/core/clock.h>
#include <plumb/core/part.h>
#include <plumb/core/privileges.h>
#include <plumb/core/tool.h>
#include <plumb/inflight/inflight.h>

#include <bpf/libbpf.h>

/*
 * Maximum time for a search of all threads; in reports of intervals, a tenth of the interval if
 * shorter.
 */
#define FINAL_NS 5000000000ULL

static uint64_t deadline(const struct plumb_run *run, bool final)
{
	uint64_t tenth = (run->options.interval ?: run->options.sample) / 10;

	return plumb_now() + (final || tenth > FINAL_NS ? FINAL_NS : tenth);
}

static void free_all(struct plumb_flights *f)
{
	free(f->all);
	*f = (struct plumb_flights){};
}

/* How often the thread was scheduled on a CPU; 0: not known. */
static uint64_t runs_of(const struct plumb_flight *f)
{
	unsigned long long runs = 0;
	char text[96];

	plumb_thread_read(f->pid, f->tid, "schedstat", text, sizeof(text));
	return sscanf(text, "%*u %*u %llu", &runs) == 1 ? runs : 0;
}

/* Whether the thread is older than the trace.  A younger one began nothing before it. */
static bool is_older(const struct plumb_flights *f, const struct plumb_flight *one)
{
	struct plumb_thread_stat stat;
	struct timespec t;
	uint64_t booted;

	if (plumb_thread_stat(one->pid, one->tid, &stat))
		return false;
	clock_gettime(CLOCK_BOOTTIME, &t);
	booted = t.tv_sec * PLUMB_SECOND + t.tv_nsec - plumb_now(); /* time in suspend */
	return stat.begun <= f->began + booted;
}

static bool is_ageless(const struct plumb_run *run)
{
	const struct plumb_inflight_kind *kind = run->tool->inflight->kind;

	return kind && kind->is_ageless && kind->is_ageless(run);
}

/* Whether threads are sought in /proc: those of a command begin in the trace. */
static bool are_sought(const struct plumb_run *run)
{
	return run->tool->inflight && run->tool->inflight->proc &&
	       !(run->child && !is_ageless(run)) && !plumb_pids_are_foreign();
}

struct search {
	const struct plumb_run *run;
	struct plumb_flights *f;
};

static bool is_inside(const struct plumb_run *run, struct plumb_flight *one)
{
	const struct plumb_inflight *inflight = run->tool->inflight;

	one->runs = inflight->kind && inflight->kind->read_rest ? runs_of(one) : 0;
	return (inflight->find ?: inflight->kind->find)(run, one);
}

static void find_in_thread(void *context, uint32_t pid, uint32_t tid)
{
	const struct search *search = context;
	struct plumb_flight one = PLUMB_FLIGHT(pid, tid, .before = !is_ageless(search->run));

	if (!plumb_thread_is_named(&search->run->options, pid, tid))
		return;
	if (is_inside(search->run, &one) && (!one.before || is_older(search->f, &one)))
		plumb_flights_add(search->f, &one);
	search->f->hidden += one.hidden;
}

/*
 * Calls from before the trace can only become fewer, so all threads are searched only once; after
 * that, only the calls found are checked.  A command starts in the trace, so it has none.
 */
static void find(const struct plumb_run *run, struct plumb_flights *f, bool final)
{
	struct search search = {run, f};
	bool hides; /* /proc, threads of other namespaces */
	size_t n = 0;

	if (!f->searched)
		f->n = 0;
	hides = (plumb_pids_are_foreign() || plumb_pid_namespace()) && !run->options.n_pids &&
		!run->options.n_tids;
	f->cut = run->tool->inflight && run->tool->inflight->proc && hides && !run->child;
	if (!are_sought(run))
		return;
	if (!f->searched) {
		f->hidden = 0;
		f->searched =
			plumb_threads_each(run, deadline(run, final), find_in_thread, &search);
		f->cut |= !f->searched;
		f->searched &= !is_ageless(run);
		return;
	}
	for (size_t i = 0; i < f->n; i++) {
		if (f->all[i].before && is_inside(run, &f->all[i]))
			f->all[n++] = f->all[i];
	}
	f->n = n;
}

static int by_tid(const void *a, const void *b)
{
	const struct plumb_flight *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Oldest first; one whose start is not known (0) may be the oldest. */
static int by_age(const void *a, const void *b)
{
	const struct plumb_flight *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return by_tid(a, b);
}

/* The context of reading states.  SEEN: flights found without a state, by tid. */
struct reading {
	const struct plumb_run *run;
	struct plumb_flights seen, *to;
};

static bool is_traced(const struct plumb_run *run, const struct plumb_inflight_kind *kind)
{
	return kind && (!kind->is_traced || kind->is_traced(run));
}

/* A thread with a state has begun a call in the trace, so it is not inside one from before. */
static void read_state(void *context, const struct plumb_state *state)
{
	const struct reading *r = context;
	const struct plumb_inflight *inflight = r->run->tool->inflight;
	struct plumb_flight key = {.tid = state->tid}, *seen = NULL, one;

	if (r->seen.n)
		seen = bsearch(&key, r->seen.all, r->seen.n, sizeof(key), by_tid);
	if (seen && seen->before)
		seen->pid = 0;
	if (inflight->read) {
		inflight->read(r->run, state, r->to);
	} else if (is_traced(r->run, inflight->kind)) {
		inflight->kind->read(r->run, state, r->to);
	} else if (inflight->state) {
		one = plumb_flight_of(r->run, state, inflight->state);
		plumb_flights_take(r->run, state, &one, r->to);
	}
}

/* Whether the thread is among the first N flights, whose ages are known and which are sorted by
 * TID. */
static bool is_known(const struct plumb_flights *f, size_t n, uint32_t tid)
{
	const struct plumb_flight key = {.tid = tid};

	return n && bsearch(&key, f->all, n, sizeof(key), by_tid);
}

/*
 * Estimates the start of ONE, which has no state: a sleeping thread has been inside at least since
 * it fell asleep.
 */
static void date(const struct plumb_run *run, const struct plumb_flights *f,
		 struct plumb_flight *one)
{
	uint64_t slept = plumb_thread_slept(one->pid, one->tid);

	one->before |= slept && slept < f->began;
	one->start = slept;
	one->at_least = slept && !run->tool->inflight->sleeps;
	if (one->before && (!slept || slept > f->began)) {
		one->start = f->began;
		one->at_least = true;
	}
}

/* Adds the flights of SEEN, except those that a state rules out (pid 0). */
static void add_seen(struct reading *r)
{
	size_t n = r->to->n;

	if (n)
		qsort(r->to->all, n, sizeof(*r->to->all), by_tid);
	for (size_t i = 0; i < r->seen.n; i++) {
		struct plumb_flight *one = &r->seen.all[i];

		if (!one->pid)
			continue;
		/*
		 * If the thread has run since, it may have left the call.  If it is known, its call
		 * is listed.
		 */
		if (one->runs && (one->runs != runs_of(one) || is_known(r->to, n, one->tid)))
			continue;
		date(r->run, r->to, one);
		plumb_flights_add(r->to, one);
	}
}

static bool is_asked_for(const struct plumb_run *run, const struct plumb_flights *f,
			 const struct plumb_flight *one)
{
	const __u64 *min_ns = run->tool->inflight->min_ns, *max_ns = run->tool->inflight->max_ns;
	const uint64_t age = plumb_flight_age(f, one);

	if (!one->start)
		return true;
	return one->start <= f->taken && age >= (min_ns ? *min_ns : 0) &&
	       !(max_ns && age > *max_ns);
}

/*
 * Removes duplicates, and flights that are too short to be reported.  Returns how many began in the
 * trace.
 */
static uint64_t tidy(const struct plumb_run *run, struct plumb_flights *f)
{
	struct plumb_flight last = {};
	uint64_t begun = 0;
	size_t n = 0;

	if (f->n)
		qsort(f->all, f->n, sizeof(*f->all), by_age);
	for (size_t i = 0; i < f->n; i++) {
		const struct plumb_flight one = f->all[i];

		if (i && !by_age(&last, &one) && last.what == one.what)
			continue;
		last = one;
		begun += !one.before;
		if (is_asked_for(run, f, &one))
			f->all[n++] = one;
	}
	f->n = n;
	return begun;
}

static void read_all(const struct plumb_run *run, struct plumb_flights *f, uint64_t in_flight,
		     uint64_t at, bool final)
{
	const struct plumb_inflight_kind *kind = run->tool->inflight->kind;
	struct reading r = {.run = run, .seen = *f, .to = f};
	uint64_t begun;

	if (r.seen.n)
		qsort(r.seen.all, r.seen.n, sizeof(*r.seen.all), by_tid);
	f->all = NULL;
	f->n = 0;
	f->taken = at;
	/* The states of threads whose numbers are another namespace's cannot be told apart. */
	if ((in_flight || r.seen.n) &&
	    (plumb_pids_are_foreign() ||
	     !plumb_states_each(run, deadline(run, final), read_state, &r)))
		f->cut = true;
	if (in_flight && kind && kind->read_rest)
		kind->read_rest(run, f);
	if ((in_flight || run->tool->inflight->unledgered) && run->tool->inflight->read_rest)
		run->tool->inflight->read_rest(run, f);
	add_seen(&r);
	free(r.seen.all);
	begun = tidy(run, f);
	if (f->hidden)
		plumb_tell_lack(PLUMB_CAP(SYS_PTRACE) | PLUMB_CAP(DAC_READ_SEARCH) |
					(strcmp(run->tool->inflight->proc, "stack")
						 ? 0
						 : PLUMB_CAP(SYS_ADMIN)),
				"calls in flight of other processes");
	/* Only at the end: until then, calls may have ended since the ledger was read. */
	f->unlisted = 0;
	if (final && !run->tool->inflight->sleeps && begun < in_flight)
		f->unlisted = in_flight - begun;
}

/* /proc/PID/stack is for CAP_SYS_ADMIN only. */
static void keep(const struct plumb_run *run)
{
	const struct plumb_inflight *inflight = run->tool->inflight;
	uint64_t capabilities = PLUMB_CAP(SYS_PTRACE) | PLUMB_CAP(DAC_READ_SEARCH);

	if (!are_sought(run))
		return;
	if (inflight->stacks || !strcmp(inflight->proc, "stack"))
		capabilities |= PLUMB_CAP(SYS_ADMIN);
	plumb_retain(capabilities, 0, "calls in flight");
}

/* A thread that has a CPU again has not brought its own state up to date; plumb_held is. */
static uint64_t held_since(const struct plumb_run *run, const void *state, int offset)
{
	const struct bpf_map *map =
		bpf_object__find_map_by_name(run->instance.bpf.object, "plumb_held");
	struct plumb_return ret;
	size_t size;
	void *held;

	if (!map || offset < 0)
		return 0;
	memcpy(&ret, (const char *)state + offset, sizeof(ret));
	if (!ret.left)
		return 0;
	size = bpf_map__value_size(map);
	held = malloc(size);
	if (!held || bpf_map__lookup_elem(map, &ret.task, sizeof(ret.task), held, size, 0))
		ret.left = 0; /* removed meanwhile, by the thread itself */
	else
		memcpy(&ret, held, sizeof(ret)); /* its first member */
	free(held);
	return ret.left && !ret.late ? ret.ended - ret.ns : 0;
}

struct plumb_flight plumb_flight_of(const struct plumb_run *run, const struct plumb_state *state,
				    const char *type)
{
	static int start = -2, ret;
	struct plumb_flight f = PLUMB_FLIGHT(state->pid, state->tid);

	if (start < -1) {
		start = plumb_states_offset(run->instance.bpf.object, type, "start");
		ret = plumb_states_offset(run->instance.bpf.object, type, "ret");
	}
	if (start >= 0)
		f.start = plumb_state_word(state->value, start);
	if (!f.start)
		f.start = held_since(run, state->value, ret);
	return f;
}

void plumb_flights_take(const struct plumb_run *run, const struct plumb_state *state,
			struct plumb_flight *f, struct plumb_flights *to)
{
	if (!f->start)
		return;
	if (run->tool->inflight->describe)
		run->tool->inflight->describe(run, state, f);
	plumb_flights_add(to, f);
}

static const struct plumb_in_flight in_flight = {
	.keep = keep,
	.settle = plumb_states_settle,
	.find = find,
	.read = read_all,
	.free = free_all,
	.print = plumb_flights_print,
	.print_oldest = plumb_flights_print_oldest,
	.json = plumb_flights_json,
};

const struct plumb_part plumb_inflight_part = {
	.name = "inflight",
	.in_flight = &in_flight,
};
