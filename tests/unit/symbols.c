// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* symbols: names for addresses of processes: this one, and others, living and ended. */
#include "symbols.h"
#include <dlfcn.h>
#include <sys/auxv.h>

/* --- this process --- */

__attribute__((noinline)) static int a_function_of_this_test(int x)
{
	asm volatile("");
	return x + 1;
}

static void this_process_and_its_libraries_have_names(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	uint64_t ours = (uintptr_t)a_function_of_this_test, libc = (uintptr_t)dlsym(NULL, "qsort");
	struct plumb_frame_name frame;

	assert_int_equal(a_function_of_this_test(1), 2);
	plumb_symbolize_user(s, getpid(), 0, ours + 1, false, &frame, 1);
	assert_string_equal(frame.function, "a_function_of_this_test");
	assert_string_equal(frame.module, "symbols");
	assert_int_equal(frame.offset, 1);
	plumb_symbolize_user(s, getpid(), 0, libc + 3, false, &frame, 1);
	assert_string_equal(frame.function, "qsort");
	assert_string_equal(frame.module, "libc.so.6");
	assert_int_equal(frame.offset, 3);
	plumb_symbolize_user(s, getpid(), 0, 0x1234, false, &frame, 1);
	assert_null(frame.function);
	assert_null(frame.module);
	assert_string_equal(name(s, getpid(), 0x1234), "0x1234 [unknown]");
	assert_int_equal(plumb_symbolizer_counts(s)->addresses, 4);
	assert_int_equal(plumb_symbolizer_counts(s)->unknown, 2);
	assert_int_equal(plumb_symbolizer_counts(s)->unread, 0);
	plumb_symbolizer_free(s);
}

static void the_vdso_has_names(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	struct plumb_frame_name frame;
	int named = 0;

	if (!base)
		skip();
	for (uint64_t at = base; at < base + 0x2000; at++) {
		plumb_symbolize_user(s, getpid(), 0, at, false, &frame, 1);
		if (!frame.module || strcmp(frame.module, "[vdso]"))
			break;
		named += frame.function && !frame.offset && strstr(frame.function, "clock_gettime");
	}
	assert_int_equal(named, 1);
	plumb_symbolizer_free(s);
}

/* --- others --- */

static void what_is_mapped_has_names_until_it_has_ended_and_after(void **state)
{
	struct child child = start_child(map_file, "lib.so");
	struct plumb_symbolizer *s = new_symbolizer();
	uint64_t at = child.address + offset_of_mark("lib.so", "<plain>"),
		 gap = child.address + offset_of_mark("lib.so", "<gap>");
	char unnamed[64];

	snprintf(unnamed, sizeof(unnamed), "lib.so+0x%lx", offset_of_mark("lib.so", "<gap>"));
	assert_int_equal(plumb_symbolizer_note(s, child.pid), 0);
	assert_string_equal(name(s, child.pid, at), "plain");
	assert_string_equal(name(s, child.pid, gap), unnamed);
	plumb_symbolizer_free(s);

	s = new_symbolizer();
	assert_int_equal(plumb_symbolizer_note(s, child.pid), 0);
	kill(child.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, child.pid, NULL, WEXITED | WNOWAIT), 0);
	plumb_symbolizer_note(s, child.pid); /* a zombie: it maps nothing */
	end_child(&child);
	assert_true(plumb_symbolizer_note(s, child.pid) < 0);
	assert_string_equal(name(s, child.pid, at), "plain");
	assert_string_equal(name(s, child.pid, gap), unnamed);
	plumb_symbolizer_free(s);
}

static void who_is_asked_for_often_is_noted_at_once_and_then_now_and_again(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	uint64_t offset = offset_of_mark("lib.so", "<plain>"), at;
	struct child child = start_child(map_file, "lib.so");
	char *pages;
	int wait;

	assert_int_equal(plumb_symbolizer_note_due(s, false), 0);
	for (int i = 0; i < 1000; i++)
		plumb_symbolizer_note_soon(s, child.pid);
	assert_int_equal(plumb_symbolizer_note_due(s, false), 0);
	end_child(&child);
	assert_string_equal(name(s, child.pid, child.address + offset), "plain");

	/* One that takes its time to read. */
	pages = mmap(NULL, 8000 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 8000; i += 2)
		mprotect(pages + i * 4096, 4096, PROT_READ | PROT_EXEC);
	plumb_symbolizer_note_soon(s, getpid());
	plumb_symbolizer_note_due(s, false);
	assert_true(plumb_symbolizer_watches_only(s)); /* it has code of no file */
	at = map_file("lib.so") + offset;
	plumb_symbolizer_note_soon(s, getpid());
	plumb_symbolizer_note_soon(s, child.pid);
	wait = plumb_symbolizer_note_due(s, false);
	assert_false(plumb_symbolizer_watches_only(s));
	assert_between(wait, 1000000, 100000000);
	assert_non_null(strstr(name(s, getpid(), at), " [unknown]"));
	usleep(wait / 1000 + 1);
	plumb_symbolizer_note_due(s, false);
	assert_true(plumb_symbolizer_watches_only(s));
	assert_string_equal(name(s, getpid(), at), "plain");
	at = map_file("fixed") + offset_of_mark("fixed", "<plain>");
	plumb_symbolizer_note_soon(s, getpid());
	plumb_symbolizer_note_due(s, true);
	assert_true(plumb_symbolizer_watches_only(s));
	assert_string_equal(name(s, getpid(), at), "plain");
	munmap(pages, 8000 * 4096);
	plumb_symbolizer_free(s);
}

static void a_return_address_is_in_the_function_that_called(void **state)
{
	uint64_t base = map_file("lib.so"), next = base + offset_of_mark("lib.so", "<next>");
	struct plumb_symbolizer *s = new_symbolizer();
	struct plumb_frame_name frame;

	plumb_symbolize_user(s, getpid(), 0, next, false, &frame, 1);
	assert_string_equal(frame.function, "next");
	assert_int_equal(frame.offset, 0);
	plumb_symbolize_user(s, getpid(), 0, next, true, &frame, 1);
	assert_string_equal(frame.function, "plain");
	assert_int_equal(frame.offset, strlen("<plain>"));
	plumb_symbolizer_free(s);
}

static void what_a_signal_handler_returns_to_has_no_caller(void **state)
{
	uint64_t restore = map_file("lib.so") + offset_of_mark("lib.so", "<restore>");
	struct plumb_symbolizer *s = new_symbolizer();
	struct plumb_frame_name frame;

	plumb_symbolize_user(s, getpid(), 0, restore, true, &frame, 1);
	assert_string_equal(frame.function, "__restore_rt");
	assert_int_equal(frame.offset, 0);
	plumb_symbolizer_free(s);
}

static void what_was_mapped_before_exec_keeps_its_names(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	uint64_t at = 0, address;
	int go[2], done[2];
	pid_t pid;

	assert_int_equal(pipe(go) | pipe2(done, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		at = map_file("lib.so");
		if (write(done[1], &at, sizeof(at)) < 0 || dup2(go[0], 0) < 0)
			_exit(1);
		close(go[1]);
		if (read(0, &at, 1) == 1)
			execl("/bin/cat", "cat", NULL);
		_exit(1);
	}
	close(done[1]);
	assert_int_equal(read(done[0], &at, sizeof(at)), sizeof(at));
	address = at + offset_of_mark("lib.so", "<plain>");
	assert_int_equal(plumb_symbolizer_note(s, pid), 0);
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(read(done[0], &at, 1), 0); /* closed by exec */
	assert_int_equal(plumb_symbolizer_note(s, pid), 0);
	assert_string_equal(name(s, pid, address), "plain");
	close(go[0]);
	close(go[1]);
	waitpid(pid, NULL, 0);
	plumb_symbolizer_free(s);
}

#if defined(__x86_64__)
static const char program32[] = ".globl _start; .type _start,%function; _start:\n"
				"1: mov $29, %eax; int $0x80; jmp 1b\n" /* pause */
				".size _start,.-_start\n"
				".section .note.GNU-stack,\"\",%progbits\n";

static pid_t start_program(const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, NULL);
		_exit(1);
	}
	return pid;
}

static void a_32_bit_process_has_names(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	uint64_t start, end, vdso = 0, code = 0;
	char path[32], line[256], flags[8];
	struct plumb_frame_name frame;
	int vsyscalls = 0;
	pid_t pid;
	FILE *f;

	write_file("p32.S", program32, strlen(program32));
	run("${CC:-cc} -m32 -nostdlib -static p32.S -o p32");
	pid = start_program("./p32");
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	while ((!code || !vdso) &&
	       !kill(pid, 0)) { /* while it is being executed, some are not there yet */
		f = fopen(path, "r");
		code = vdso = 0; /* not those of this program, which it had before */
		while (fgets(line, sizeof(line), f)) {
			if (sscanf(line, "%lx-%lx %7s", &start, &end, flags) != 3 ||
			    flags[2] != 'x')
				continue;
			if (strstr(line, "/p32"))
				code = start;
			if (strstr(line, "[vdso]"))
				vdso = start;
		}
		fclose(f);
		if (waitpid(pid, NULL, WNOHANG)) /* this kernel runs no 32-bit programs */
			skip();
	}
	assert_between(code, 1, UINT32_MAX);
	code += offset_of_mark("p32", "\xb8\x1d\0\0") % 4096;
	assert_string_equal(name(s, pid, code), "_start");
	for (uint64_t at = vdso; at < vdso + 4096; at++) {
		plumb_symbolize_user(s, pid, 0, at, false, &frame, 1);
		vsyscalls += frame.function && !strcmp(frame.function, "__kernel_vsyscall") &&
			     !frame.offset;
	}
	assert_int_equal(vsyscalls, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	plumb_symbolizer_free(s);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_process_and_its_libraries_have_names),
		cmocka_unit_test(the_vdso_has_names),
		cmocka_unit_test(what_is_mapped_has_names_until_it_has_ended_and_after),
		cmocka_unit_test(who_is_asked_for_often_is_noted_at_once_and_then_now_and_again),
		cmocka_unit_test(a_return_address_is_in_the_function_that_called),
		cmocka_unit_test(what_a_signal_handler_returns_to_has_no_caller),
		cmocka_unit_test(what_was_mapped_before_exec_keeps_its_names),
#if defined(__x86_64__)
		cmocka_unit_test(a_32_bit_process_has_names),
#endif
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
