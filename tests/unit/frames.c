// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* frames: whose call ends, and whose end was missed, by where calls lie in the kernel's stack. */
#include "unit.h"

#include <plumb/bpf/function/frames.bpf.h>

enum { A = 1, B, C };

/* Deeper is lower. */
#define PLACE(deep) (0xffff800000004000 - 64 * (deep))

static struct function_thread thread;
static __u64 clock_ns;
static __u32 lost;

static int clear(void **state)
{
	thread = (struct function_thread){};
	clock_ns = lost = 0;
	return 0;
}

static bool begin(__u64 target, int deep)
{
	__u32 stale;
	struct plumb_frame *f = frame_push(&thread, PLACE(deep), target, &stale);

	lost += stale;
	clock_ns++;
	if (!f)
		return false;
	f->target = target;
	f->start = clock_ns;
	f->place = PLACE(deep);
	return true;
}

/* When the call began that ends; 0: that is not known. */
static __u64 end(__u64 target, int deep)
{
	struct plumb_frame f;
	__u32 stale;

	if (!frame_pop(&thread, target, PLACE(deep), &f, &stale))
		return 0;
	lost += stale;
	return f.start;
}

static void calls_end_in_the_reverse_order(void **state)
{
	for (int deep = 1; deep <= PLUMB_FRAMES; deep++)
		assert_true(begin(deep % 2 ? A : B, deep));
	assert_false(begin(A, PLUMB_FRAMES + 1));
	assert_int_equal(end(A, PLUMB_FRAMES + 1), 0);
	for (int deep = PLUMB_FRAMES; deep; deep--)
		assert_int_equal(end(deep % 2 ? A : B, deep), deep);
	assert_int_equal(lost, 0);
}

static void a_function_that_another_ends_in_leaves_it_its_call(void **state)
{
	begin(A, 1);
	begin(B, 1);
	begin(C, 1);
	begin(A, 2);
	assert_int_equal(end(A, 2), 4);
	assert_int_equal(end(C, 1), 3);
	assert_int_equal(end(B, 1), 2);
	assert_int_equal(end(A, 1), 1);
	assert_int_equal(lost, 0);
}

static void what_lies_deeper_is_over(void **state)
{
	begin(A, 2);
	begin(B, 3);
	begin(C, 1);
	assert_int_equal(lost, 2);
	assert_int_equal(end(C, 1), 3);
	assert_int_equal(thread.depth, 0);
}

/* As where more threads sleep in them than there are kretprobes. */
static void ends_that_are_missed_again_and_again_take_no_room(void **state)
{
	for (int i = 0; i < 100; i++) {
		assert_true(begin(A, 1));
		assert_true(begin(B, 1));
	}
	assert_int_equal(thread.depth, 2);
	assert_int_equal(lost, 198);
	begin(A, 1);
	assert_int_equal(end(A, 1), 201);
	begin(B, 1);
	assert_int_equal(end(B, 1), 202);
}

static void what_another_function_left_there_is_in_nobodys_way(void **state)
{
	begin(A, 1);
	for (int i = 2; i < 100; i++) {
		begin(B, 1);
		assert_int_equal(end(B, 1), i);
	}
	begin(A, 1);
	assert_int_equal(lost, 1);
	assert_int_equal(end(A, 1), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(calls_end_in_the_reverse_order, clear),
		cmocka_unit_test_setup(a_function_that_another_ends_in_leaves_it_its_call, clear),
		cmocka_unit_test_setup(what_lies_deeper_is_over, clear),
		cmocka_unit_test_setup(ends_that_are_missed_again_and_again_take_no_room, clear),
		cmocka_unit_test_setup(what_another_function_left_there_is_in_nobodys_way, clear),
	};

	return run_all(tests);
}
