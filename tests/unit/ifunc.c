// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ifunc: what a process calls, as the process itself knows it. */
#include "said.h"
#include "specimen.h"
#include <dlfcn.h>
#include <errno.h>
#include <plumb/symbols/binary.h>
#include <plumb/user/ifunc.h>

/* Two libraries, whose resolvers return different functions. */
static const char library[] =
	"__attribute__((visibility(\"hidden\"))) int one(void) { return 1; }\n"
	"__attribute__((visibility(\"hidden\"))) int two(void) { return 2; }\n"
	"static int (*resolve(void))(void) { return RETURNED; }\n"
	"int number(void) __attribute__((ifunc(\"resolve\")));\n"
	"int twice(void) { return 2 * number(); }\n" /* never called: never looked up */
	"int plain(void) { return 3; }\n";

static const char program[] =
	"#include <stdio.h>\n#include <unistd.h>\n"
	"int number(void);\n"
	"int main(void) { printf(\"%d\\n\", number()); fflush(stdout); pause(); return 0; }\n";

static int make_files(void **state)
{
	if (make_specimens())
		return -1;
	write_file("l.c", library, strlen(library));
	write_file("p.c", program, strlen(program));
	for (int i = 1; i <= 2; i++) {
		const char *returned = i == 1 ? "one" : "two";

		run("mkdir %s && ${CC:-cc} -w -fPIC -shared -Wl,-z,lazy -DRETURNED=%s l.c -o "
		    "%s/libl.so",
		    returned, returned, returned);
		run("${CC:-cc} -w -static -DRETURNED=%s l.c p.c -o static-%s", returned, returned);
	}
	run("${CC:-cc} -fPIE -pie -Wl,-z,now p.c -Lone -ll -o now");
	run("${CC:-cc} -fno-plt -fPIE -pie p.c -Lone -ll -o pointer");
	run("${CC:-cc} -fno-pie -no-pie -Wl,-z,lazy p.c -Lone -ll -o lazy");
	return 0;
}

/* Starts a program that prints which function was called, and waits. */
static pid_t start(const char *path, const char *directory, int *number)
{
	int fds[2];
	char text[16] = "";
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("LD_LIBRARY_PATH", directory, 1);
		dup2(fds[1], 1);
		execl(path, path, NULL);
		_exit(1);
	}
	close(fds[1]);
	assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
	close(fds[0]);
	*number = atoi(text);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int resolve(pid_t pid, const char *target, struct plumb_userfuncs *found)
{
	char *file = strdup(target), *function = strchr(file, ':'), *path;
	int fd, err;

	*function++ = 0;
	check(!plumb_binary_find(file, &path), "%s", file);
	fd = open(path, O_RDONLY);
	err = plumb_ifunc_resolve(pid, fd, path, function, false, found);
	close(fd);
	free(path);
	free(file);
	return err;
}

/* The process has called FILE's function of the number that it printed. */
static void resolves(const char *path, const char *directory, const char *file)
{
	struct plumb_userfuncs found, named;
	char target[128];
	int number;
	pid_t pid = start(path, directory, &number);

	snprintf(target, sizeof(target), "%s:%s", file, number == 1 ? "one" : "two");
	check(!plumb_userfuncs_find(target, &named), "%s", target);
	snprintf(target, sizeof(target), "%s:number", file);
	check(!resolve(pid, target, &found), "%s", target);
	check(found.n == 1, "%s: %zu", target, found.n);
	check(found.list[0].offset == named.list[0].offset, "%s in %s", target, path);
	assert_string_equal(found.list[0].name, "number");
	assert_string_equal(found.list[0].aliases, number == 1 ? "one" : "two");
	assert_string_equal(found.path, file);
	plumb_userfuncs_free(&found);
	plumb_userfuncs_free(&named);
	snprintf(target, sizeof(target), "%s:plain", file);
	assert_int_equal(resolve(pid, target, &found), -ENODATA);
	end(pid);
}

static void what_a_process_calls_is_found(void **state)
{
	resolves("./now", "one", "./one/libl.so");
	resolves("./now", "two", "./two/libl.so");
	resolves("./pointer", "one", "./one/libl.so");
	resolves("./pointer", "two", "./two/libl.so");
	resolves("./lazy", "one", "./one/libl.so");
	resolves("./lazy", "two", "./two/libl.so");
}

static void of_static_programs_as_well(void **state)
{
	resolves("./static-one", ".", "./static-one");
	resolves("./static-two", ".", "./static-two");
}

/* This process is asked by dlsym(), which calls the resolver itself. */
static void libcs_memcpy_is_what_dlsym_returns(void **state)
{
	static const char *const functions[] = {"strlen", "memcpy", "strchr"};
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct plumb_userfuncs found;
	char target[64], line[512];

	for (size_t i = 0; i < LENGTH(functions); i++) {
		uint64_t at = (uintptr_t)dlsym(libc, functions[i]), start, end, offset;
		FILE *maps = fopen("/proc/self/maps", "r");
		bool is = false;

		snprintf(target, sizeof(target), "libc:%s", functions[i]);
		check(!resolve(getpid(), target, &found), "%s", target);
		while (fgets(line, sizeof(line), maps))
			if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
			    at >= start && at < end)
				for (size_t j = 0; j < found.n; j++)
					is |= found.list[j].offset == at - start + offset;
		fclose(maps);
		check(is, "%s", target);
		plumb_userfuncs_free(&found);
	}
	dlclose(libc);
}

static void processes_without_the_file_are_refused(void **state)
{
	struct plumb_userfuncs found;
	const char *text;

	listen_to_stderr();
	assert_int_equal(resolve(getpid(), "./one/libl.so:number", &found), -ESRCH);
	text = said();
	check(strstr(text, "does not map ./one/libl.so\n"), "%s", text);
	assert_int_equal(found.n, 0);
	listen_to_stderr();
	assert_int_equal(resolve(1 << 22, "./one/libl.so:number", &found), -ENOENT);
	text = said();
	check(strstr(text, "cannot read /proc/4194304/maps"), "%s", text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_process_calls_is_found),
		cmocka_unit_test(of_static_programs_as_well),
		cmocka_unit_test(libcs_memcpy_is_what_dlsym_returns),
		cmocka_unit_test(processes_without_the_file_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
