// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* symbols-perfmap: names of code that a JIT has made, and maps that others have put there. */
#include "specimen.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <plumb/symbols/symbols.h>

static int make_directory(void **state)
{
	return make_specimens();
}

/* Code of no file; TMP, if there is one, becomes its /tmp. */
static uint64_t make_code(const char *tmp)
{
	if (*tmp && (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		     mount(tmp, "/tmp", NULL, MS_BIND, NULL)))
		return 0;
	return (uintptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
}

static char map[64];

static struct child start_jit(uint64_t (*make)(const char *))
{
	struct child child;

	assert_int_equal(mkdir("tmp", 0755), 0);
	child = start_child(make, "tmp");
	snprintf(map, sizeof(map), "tmp/perf-%d.map", child.pid);
	return child;
}

static void end_jit(const struct child *child)
{
	end_child(child);
	run("rm -r tmp");
}

__attribute__((format(printf, 1, 2))) static void append(const char *format, ...)
{
	FILE *f = fopen(map, "a");
	va_list args;

	assert_non_null(f);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

static const char *name(struct plumb_symbolizer *s, const struct child *child, uint64_t offset)
{
	static char text[256];
	struct plumb_frame_name frame;

	assert_int_equal(plumb_symbolizer_note(s, child->pid), 0);
	plumb_symbolize_user(s, child->pid, 0, child->address + offset, false, &frame, 1);
	assert_string_equal(frame.module, frame.function ? "[perf map]" : "[anon]");
	return plumb_frame_name_text(&frame, text, sizeof(text));
}

/* The namespace for it needs root. */
#define NEEDS_ROOT()                                                                               \
	do {                                                                                       \
		(void)state;                                                                       \
		if (geteuid())                                                                     \
			skip();                                                                    \
	} while (0)

static void code_has_the_names_of_its_map(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct child child;

	NEEDS_ROOT();
	child = start_jit(make_code);
	assert_string_equal(name(s, &child, 0x10), "[anon]+0x10");
	append("%lx 20 LazyCompile:~main app.js:1\n", child.address);
	append("%lx 10 void Main::run(Ljava/lang/String;)\n", child.address + 0x20);
	append("%lx 10 not yet", child.address + 0x40);
	assert_string_equal(name(s, &child, 0), "LazyCompile:~main app.js:1");
	assert_string_equal(name(s, &child, 0x1f), "LazyCompile:~main app.js:1");
	assert_string_equal(name(s, &child, 0x20), "void Main::run(Ljava/lang/String:)");
	assert_string_equal(name(s, &child, 0x30), "[anon]+0x30");
	assert_string_equal(name(s, &child, 0x40), "[anon]+0x40");
	append(" whole\n%lx 20 second\n", child.address);
	assert_string_equal(name(s, &child, 0x40), "not yet whole");
	assert_string_equal(name(s, &child, 0), "second [address reused]");
	assert_int_equal(plumb_symbolizer_counts(s)->bad_lines, 0);
	/* Written anew, and then as another file. */
	assert_int_equal(truncate(map, 0), 0);
	append("%lx 20 third\n", child.address);
	assert_string_equal(name(s, &child, 0), "third [address reused]");
	assert_string_equal(name(s, &child, 0x40), "[anon]+0x40");
	run("mv %s old", map);
	append("%lx 20 fourth, which is longer than all before\n", child.address);
	assert_string_equal(name(s, &child, 0),
			    "fourth, which is longer than all before [address reused]");
	kill(child.pid, SIGKILL);
	waitid(P_PID, child.pid, NULL, WEXITED | WNOWAIT);
	assert_string_equal(name(s, &child, 0),
			    "fourth, which is longer than all before [address reused]");
	end_jit(&child);
	plumb_symbolizer_free(s);
}

static void what_was_written_anew_is_not_taken_for_more(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct child child;

	NEEDS_ROOT();
	child = start_jit(make_code);
	append("%lx 10 same\n%lx 10 one\n", child.address + 0x40, child.address);
	assert_string_equal(name(s, &child, 0), "one");
	run("sleep 0.02; sed s/one/two/ %s >new && cat new >%s", map, map); /* as long as before */
	assert_string_equal(name(s, &child, 0), "two [address reused]");
	run("sed s/two/three/ new >%s", map);
	assert_string_equal(name(s, &child, 0), "three [address reused]");
	run("sleep 0.02; cp %s new; cat new >%s", map, map);
	assert_string_equal(name(s, &child, 0), "three [address reused]");
	append("%lx 10 more\n", child.address + 0x20);
	assert_string_equal(name(s, &child, 0), "three [address reused]");
	assert_string_equal(name(s, &child, 0x20), "more");
	assert_string_equal(name(s, &child, 0x40), "same");
	assert_int_equal(plumb_symbolizer_counts(s)->bad_lines, 0);
	end_jit(&child);
	plumb_symbolizer_free(s);
}

static void code_across_other_code_is_in_its_place(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct child child;

	NEEDS_ROOT();
	child = start_jit(make_code);
	append("%lx 40 large\n%lx 10 small\n", child.address, child.address + 0x10);
	assert_string_equal(name(s, &child, 0x18), "small [address reused]");
	assert_string_equal(name(s, &child, 0x28), "large");
	append("%lx 40 last\n", child.address + 8);
	assert_string_equal(name(s, &child, 0x18), "last [address reused]");
	assert_string_equal(name(s, &child, 0), "large");
	end_jit(&child);
	plumb_symbolizer_free(s);
}

static void a_map_is_read_again_as_it_grows(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct plumb_frame_name frame;
	struct child child;
	int wait;

	NEEDS_ROOT();
	child = start_jit(make_code);
	append("%lx 10 first\n", child.address);
	plumb_symbolizer_note_soon(s, child.pid);
	wait = plumb_symbolizer_note_due(s, true);
	assert_in_range(wait, 1, 200000000);
	assert_true(plumb_symbolizer_watches_only(s));
	append("%lx 10 second\n", child.address);
	usleep(wait / 1000 + 1);
	assert_in_range(plumb_symbolizer_note_due(s, false), 1, 200000000);
	plumb_symbolize_user(s, child.pid, 0, child.address, false, &frame, 1);
	assert_string_equal(frame.function, "second [address reused]");
	append("%lx 10 third\n", child.address);
	plumb_symbolizer_note_due(s, true);
	plumb_symbolize_user(s, child.pid, 0, child.address, false, &frame, 1);
	assert_string_equal(frame.function, "third [address reused]");
	end_jit(&child);
	assert_int_equal(plumb_symbolizer_note_due(s, true), 0);
	plumb_symbolizer_free(s);
}

static void lines_that_are_none_are_passed_over_and_counted(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct child child;

	NEEDS_ROOT();
	child = start_jit(make_code);
	append("\n%lx\n%lx 10\n%lx 10 \n%lx 0 empty\n", child.address, child.address, child.address,
	       child.address);
	append("wrong 10 wrong\n%lx wrong wrong\n%c%c%c\n", child.address, 0, 0, 0);
	append("%lx 10 %05000d\n", child.address, 1); /* longer than any */
	append("%lx 10 go\tod\n", child.address);
	assert_string_equal(name(s, &child, 0), "go\\x09od");
	assert_int_equal(plumb_symbolizer_counts(s)->bad_lines, 9);
	end_jit(&child);
	plumb_symbolizer_free(s);
}

static void maps_of_others_are_not_believed(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct child child;

	NEEDS_ROOT();
	child = start_jit(make_code);
	append("%lx 10 forged\n", child.address);
	assert_int_equal(chown(map, 65534, 65534), 0);
	assert_string_equal(name(s, &child, 0), "[anon]+0x0");
	assert_int_equal(plumb_symbolizer_counts(s)->foreign, 1);
	run("mv %s tmp/its && chown 0 tmp/its && ln -s its %s", map, map);
	assert_string_equal(name(s, &child, 0), "[anon]+0x0");
	run("rm %s && mkfifo %s", map, map); /* to open it would wait */
	assert_string_equal(name(s, &child, 0), "[anon]+0x0");
	run("rm %s && mkdir %s", map, map);
	assert_string_equal(name(s, &child, 0), "[anon]+0x0");
	plumb_symbolizer_free(s);
	s = plumb_symbolizer_new(false);
	assert_string_equal(name(s, &child, 0), "[anon]+0x0");
	assert_int_equal(plumb_symbolizer_counts(s)->unread, 1);
	run("rmdir %s && mv tmp/its %s", map, map);
	assert_string_equal(name(s, &child, 0), "forged");
	end_jit(&child);
	plumb_symbolizer_free(s);
}

static void a_map_that_is_too_large_is_read_in_part(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct child child;

	NEEDS_ROOT();
	child = start_jit(make_code);
	append("%lx 10 first\n", child.address);
	assert_int_equal(truncate(map, 1L << 40), 0);
	append("\n%lx 10 last\n", child.address);
	assert_string_equal(name(s, &child, 0), "first");
	end_jit(&child);
	plumb_symbolizer_free(s);
}

/* The process is the first of its PID namespace. */
static uint64_t make_code_in_a_namespace(const char *tmp)
{
	int fds[2];
	uint64_t address;
	pid_t pid;

	signal(SIGCHLD, SIG_IGN); /* nobody waits for it */
	if (unshare(CLONE_NEWPID) || pipe(fds))
		return 0;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		address = make_code(tmp);
		if (write(fds[1], &address, sizeof(address)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	return read(fds[0], &address, sizeof(address)) == sizeof(address) ? (uint64_t)pid : 0;
}

static uint64_t code_of(pid_t pid)
{
	char path[32], line[256];
	uint64_t start, code = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, " r-xp 00000000 00:00 0 \n") && sscanf(line, "%lx", &start) == 1)
			code = start;
	fclose(f);
	assert_true(code);
	return code;
}

static void the_map_is_that_of_the_pid_in_its_namespace(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct child parent, child;

	NEEDS_ROOT();
	parent = start_jit(make_code_in_a_namespace);
	child = (struct child){.pid = parent.address, .address = code_of(parent.address)};
	strcpy(map, "tmp/perf-1.map");
	append("%lx 10 inside\n", child.address);
	assert_string_equal(name(s, &child, 0), "inside");
	kill(child.pid, SIGKILL);
	end_jit(&parent);
	plumb_symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_has_the_names_of_its_map),
		cmocka_unit_test(what_was_written_anew_is_not_taken_for_more),
		cmocka_unit_test(code_across_other_code_is_in_its_place),
		cmocka_unit_test(a_map_is_read_again_as_it_grows),
		cmocka_unit_test(lines_that_are_none_are_passed_over_and_counted),
		cmocka_unit_test(maps_of_others_are_not_believed),
		cmocka_unit_test(a_map_that_is_too_large_is_read_in_part),
		cmocka_unit_test(the_map_is_that_of_the_pid_in_its_namespace),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_directory, remove_specimens);
}
