// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* threads: what /proc says of one, whatever its name, and which are walked. */
#include "unit.h"
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/inflight/inflight.h>

#define NAME ") R (a b"

static struct {
	pthread_t thread;
	_Atomic uint32_t tid;
	int ends[2];
	uint64_t before, asleep; /* ns: it was awake, and it slept */
} sleeper;

static void *fall_asleep(void *unused)
{
	char byte;

	prctl(PR_SET_NAME, NAME);
	sleeper.before = plumb_now();
	sleeper.tid = gettid();
	check(read(sleeper.ends[0], &byte, 1) == 1, "its byte");
	return unused;
}

static int begin(void **state)
{
	struct plumb_thread_stat stat = {};

	if (pipe(sleeper.ends) || pthread_create(&sleeper.thread, NULL, fall_asleep, NULL))
		return -1;
	while (!sleeper.tid ||
	       (!plumb_thread_stat(getpid(), sleeper.tid, &stat) && stat.state != 'S'))
		usleep(100);
	sleeper.asleep = plumb_now();
	return 0;
}

static int end(void **state)
{
	if (write(sleeper.ends[1], "", 1) != 1)
		return -1;
	return pthread_join(sleeper.thread, NULL);
}

static void a_name_may_look_like_a_state(void **state)
{
	struct plumb_thread_stat stat = {};
	char comm[PLUMB_COMM_LEN];

	assert_int_equal(plumb_thread_stat(getpid(), sleeper.tid, &stat), 0);
	assert_int_equal(stat.state, 'S');
	plumb_thread_comm(getpid(), sleeper.tid, comm);
	assert_string_equal(comm, NAME);
}

static void it_began_while_this_program_ran(void **state)
{
	struct plumb_thread_stat own = {}, other = {};
	struct timespec now;

	assert_int_equal(plumb_thread_stat(getpid(), getpid(), &own), 0);
	assert_int_equal(plumb_thread_stat(getpid(), sleeper.tid, &other), 0);
	clock_gettime(CLOCK_BOOTTIME, &now);
	assert_true(other.begun >= own.begun);
	assert_true(other.begun <= now.tv_sec * PLUMB_SECOND + now.tv_nsec);
	assert_true(other.begun + 60 * PLUMB_SECOND > now.tv_sec * PLUMB_SECOND);
}

/* By the scheduler's clock, which is not the program's. */
static void it_sleeps_since_it_fell_asleep(void **state)
{
	uint64_t slept = plumb_thread_slept(getpid(), sleeper.tid);

	if (!slept && access("/proc/self/sched", R_OK))
		skip(); /* CONFIG_SCHED_DEBUG is off */
	check(slept + PLUMB_SECOND / 20 >= sleeper.before &&
		      slept <= sleeper.asleep + PLUMB_SECOND / 20,
	      "%lld before, %lld behind", (long long)(slept - sleeper.before),
	      (long long)(slept - sleeper.asleep));
}

static void a_thread_that_is_gone_says_nothing(void **state)
{
	struct plumb_thread_stat stat;
	char comm[PLUMB_COMM_LEN], text[64];
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_true(plumb_thread_stat(child, child, &stat) < 0);
	assert_true(plumb_thread_read(child, child, "syscall", text, sizeof(text)) < 0);
	assert_string_equal(text, "");
	plumb_thread_comm(child, child, comm);
	assert_string_equal(comm, "?");
	assert_int_equal(plumb_thread_slept(child, child), 0);
	assert_int_equal(plumb_thread_process(child), 0);
}

static void a_thread_has_a_process(void **state)
{
	assert_int_equal(plumb_thread_process(sleeper.tid), getpid());
}

static void names_are_compared_as_a_whole(void **state)
{
	struct plumb_options o = {};

	assert_true(plumb_thread_is_named(&o, getpid(), sleeper.tid));
	o.n_comms = 1;
	strcpy(o.comms[0], ") R (");
	assert_false(plumb_thread_is_named(&o, getpid(), sleeper.tid));
	strcpy(o.comms[0], NAME);
	assert_true(plumb_thread_is_named(&o, getpid(), sleeper.tid));
}

static void note_id(void *context, uint32_t pid, uint32_t tid)
{
	uint64_t *seen = context;

	*seen += tid == *(seen + 1);
}

/* This program is the tool, which does not look at itself: a child is looked for. */
static void walks_what_is_asked_for(void **state)
{
	struct plumb_run run = {};
	uint64_t seen[2] = {};
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	seen[1] = child;
	assert_true(plumb_threads_each(&run, UINT64_MAX, note_id, seen));
	assert_int_equal(seen[0], 1);
	run.options.n_pids = 1;
	run.options.pids[0] = child;
	assert_true(plumb_threads_each(&run, UINT64_MAX, note_id, seen));
	assert_int_equal(seen[0], 2);
	run.options.pids[0] = getppid();
	assert_true(plumb_threads_each(&run, UINT64_MAX, note_id, seen));
	assert_int_equal(seen[0], 2);
	run.options.n_pids = 0;
	run.options.n_tids = 1;
	run.options.tids[0] = child;
	assert_true(plumb_threads_each(&run, UINT64_MAX, note_id, seen));
	assert_int_equal(seen[0], 3);
	seen[1] = sleeper.tid;
	run.options.tids[0] = sleeper.tid;
	assert_true(plumb_threads_each(&run, UINT64_MAX, note_id, seen));
	assert_int_equal(seen[0], 3);
	assert_false(plumb_threads_each(&run, 0, note_id, seen));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_may_look_like_a_state),
		cmocka_unit_test(it_began_while_this_program_ran),
		cmocka_unit_test(it_sleeps_since_it_fell_asleep),
		cmocka_unit_test(a_thread_that_is_gone_says_nothing),
		cmocka_unit_test(a_thread_has_a_process),
		cmocka_unit_test(names_are_compared_as_a_whole),
		cmocka_unit_test(walks_what_is_asked_for),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, begin, end);
}
