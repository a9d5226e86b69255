/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * specimen: files compiled in a directory of their own, and processes that map them.
 * Code is known by the marks in it, so that its place is found without any symbol.
 */
#pragma once

#include "unit.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char specimens[] = "/tmp/specimens.XXXXXX";

static inline int make_specimens(void)
{
	return !mkdtemp(specimens) || chmod(specimens, 0755) || chdir(specimens) ? -1 : 0;
}

/* As a teardown of cmocka. */
static inline int remove_specimens(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", specimens);
	return chdir("/") || system(command);
}

__attribute__((format(printf, 1, 2))) static inline void run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	check(!system(command), "%s", command);
}

static inline void write_file(const char *name, const void *data, size_t size)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* The whole of a file, malloc'd. */
static inline char *contents(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	char *data;

	check(f, "%s", path);
	fseek(f, 0, SEEK_END);
	*size = ftell(f);
	rewind(f);
	data = malloc(*size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, *size, f), *size);
	fclose(f);
	return data;
}

static inline uint64_t offset_of_mark(const char *path, const char *mark)
{
	size_t size;
	char *data = contents(path, &size), *at = memmem(data, size, mark, strlen(mark));
	uint64_t offset = at - data;

	check(at, "no %s in %s", mark, path);
	free(data);
	return offset;
}

/* All of a file as code; where. */
static inline uint64_t map_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st))
		return 0;
	at = mmap(NULL, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return at == MAP_FAILED ? 0 : (uintptr_t)at;
}

struct child {
	pid_t pid;
	uint64_t address; /* what its function has returned */
};

/* A process that calls a function and then waits. */
static inline struct child start_child(uint64_t (*function)(const char *), const char *argument)
{
	struct child child = {};
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child.address = function(argument);
		if (write(fds[1], &child.address, sizeof(child.address)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &child.address, sizeof(child.address)),
			 sizeof(child.address));
	close(fds[0]);
	check(child.address, "%s", argument);
	return child;
}

static inline void end_child(const struct child *child)
{
	kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}
