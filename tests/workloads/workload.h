/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * workload: shared by the programs that make a known number of known calls.
 *
 * Each prints one line of JSON with what it did, by its own measurement; tests compare the report
 * of a tool with it:
 *
 *	{"workload":NAME,"pid":PID,"calls":[{"tid":TID,"comm":NAME,
 *	 "syscall":NAME,"count":N,"errors":N, ...}, ...]}
 *
 * (or "function":NAME, a function of the kernel).
 *
 * Counts are exact for the named calls of the named threads.  So the calls that a workload makes
 *for itself are never of a kind that it counts: it waits with clock_nanosleep, reads /proc with
 * pread64, prints with writev, makes files with mknodat and openat2, and reads the clock through
 * the vDSO.
 *
 * Environment:
 *	WORKLOAD_JSON=FILE  the line is written to FILE, not to stdout, which may be the tool's
 *	WORKLOAD_GATES=DIR  gates: the workload creates DIR/NAME to report its progress, and waits
 *			    until another DIR/NAME exists; without this variable, it does not wait
 */
#pragma once

#include "base.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKLOAD_SKIP 77 /* exit status: this kernel cannot do it */

/* ---- gates ---- */

static inline const char *gate_path(char *path, size_t size, const char *name)
{
	const char *dir = getenv("WORKLOAD_GATES");

	if (!dir || !*dir)
		return NULL;
	if ((size_t)snprintf(path, size, "%s/%s", dir, name) >= size)
		die("WORKLOAD_GATES is too long");
	return path;
}

/* Report that the workload has come as far as NAME. */
static inline void reached(const char *name)
{
	char path[PATH_MAX];

	if (!gate_path(path, sizeof(path), name))
		return;
	if (syscall(SYS_mknodat, AT_FDCWD, path, S_IFREG | 0644, 0))
		die("%s: %s", path, strerror(errno));
}

/* Return whether gate NAME is open: its file exists, or there are no gates. */
static inline bool is_open(const char *name)
{
	char path[PATH_MAX];

	return !gate_path(path, sizeof(path), name) ||
	       !syscall(SYS_faccessat, AT_FDCWD, path, F_OK);
}

/*
 * Wait for gate NAME.  That takes long while many tools start, so the limit is 4 minutes, and the
 * pauses grow: many workloads that wait take the time of an emulated machine.
 */
static inline void gate(const char *name)
{
	uint64_t deadline = now_ns() + 240000000000ULL, pause = 1000000;

	while (!is_open(name)) {
		if (now_ns() > deadline)
			die("%s did not appear within 4 minutes", name);
		pause_ns(pause);
		/* Emulated, a dozen workloads that look each ms take a whole CPU. */
		if (pause < 16000000)
			pause *= 2;
	}
}

/* ---- threads ---- */

static inline pid_t own_tid(void)
{
	return syscall(SYS_gettid);
}

static inline void own_comm(char comm[16])
{
	if (prctl(PR_GET_NAME, comm))
		die("prctl(PR_GET_NAME): %s", strerror(errno));
}

static inline void rename_self(const char *name)
{
	if (prctl(PR_SET_NAME, name))
		die("prctl(PR_SET_NAME): %s", strerror(errno));
}

static inline int open_of_thread(pid_t pid, pid_t tid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	fd = open_uncounted(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

static inline int open_stat(pid_t pid, pid_t tid)
{
	return open_of_thread(pid, tid, "stat");
}

/* The state (R, S, T, ...) of the thread whose stat file is FD; 0: the thread is gone. */
static inline char thread_state(int fd)
{
	char text[512], *after;
	ssize_t n = syscall(SYS_pread64, fd, text, sizeof(text) - 1, (off_t)0);

	if (n <= 0)
		return 0;
	text[n] = 0;
	after = strrchr(text, ')'); /* a name can contain a parenthesis */
	return after && after[1] ? after[2] : 0;
}

/*
 * Wait until the thread whose stat file is FD is in state WANTED.  If the thread announced its
 * blocking call right before making it, a state of S means that it sleeps in that call.
 */
static inline void await_state(int fd, char wanted)
{
	uint64_t deadline = now_ns() + 20000000000ULL;
	char state;

	while ((state = thread_state(fd)) != wanted) {
		if (!state)
			die("a thread is gone that should be in state %c", wanted);
		if (now_ns() > deadline)
			die("a thread is in state %c for 20 s, not %c", state, wanted);
		pause_ns(50000);
	}
}

/*
 * A thread sets its state before it leaves its CPU, and tracers of the switch take time. A read of
 * its syscall file, CALL, waits until it has left.
 */
static inline void await_switched_out(int call)
{
	char text[256];

	if (syscall(SYS_pread64, call, text, sizeof(text), (off_t)0) <= 0)
		die("/proc/PID/task/TID/syscall: %s", strerror(errno));
}

static inline void make_pipe(int ends[2])
{
	if (syscall(SYS_pipe2, ends, O_CLOEXEC))
		die("pipe2: %s", strerror(errno));
}

/* Zeroed memory that is shared with children. */
static inline void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

static inline pid_t fork_or_die(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	return pid;
}

static inline int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid: %s", strerror(errno));
	return status;
}

/* ---- what one thread measured of one kind of call ---- */

struct series {
	uint64_t *ns; /* of each call, in order */
	uint64_t count, room, errors;
};

static inline void series_init(struct series *s, uint64_t room)
{
	*s = (struct series){.room = room, .ns = calloc(room ? room : 1, sizeof(*s->ns))};
	if (!s->ns)
		die("no memory for %llu calls", (unsigned long long)room);
}

static inline void series_add(struct series *s, uint64_t ns, bool error)
{
	if (s->count == s->room)
		die("more calls than there is room for");
	s->ns[s->count++] = ns;
	s->errors += error;
}

static inline int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* ---- output ---- */

static char json[1 << 20];
static size_t json_length;

__attribute__((format(printf, 1, 2))) static inline void put(const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(json + json_length, sizeof(json) - json_length, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(json) - json_length)
		die("the report is too long");
	json_length += n;
}

static inline void put_string(const char *name, const char *text)
{
	put("\"%s\":\"", name);
	for (; *text; text++)
		if (*text == '"' || *text == '\\' || (unsigned char)*text < 0x20)
			put("\\u%04x", *text);
		else
			put("%c", *text);
	put("\"");
}

/* "sum", "min", "max" and nearest-rank percentiles; sorts S. */
static inline void put_figures(struct series *s)
{
	static const struct {
		const char *name;
		uint64_t per_mille;
	} percentiles[] = {{"50", 500}, {"90", 900}, {"99", 990}, {"99.9", 999}};
	uint64_t i, sum = 0;

	if (!s->count) {
		put("\"sum\":0,\"min\":null,\"max\":null,\"percentiles\":{}");
		return;
	}
	qsort(s->ns, s->count, sizeof(*s->ns), compare_ns);
	for (i = 0; i < s->count; i++)
		sum += s->ns[i];
	put("\"sum\":%llu,\"min\":%llu,\"max\":%llu,\"percentiles\":{", (unsigned long long)sum,
	    (unsigned long long)s->ns[0], (unsigned long long)s->ns[s->count - 1]);
	for (i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++)
		put("%s\"%s\":%llu", i ? "," : "", percentiles[i].name,
		    (unsigned long long)
			    s->ns[(s->count * percentiles[i].per_mille + 999) / 1000 - 1]);
	put("}");
}

static inline void report_begin(void)
{
	put("{");
	put_string("workload", program_invocation_short_name);
	put(",\"pid\":%d,\"calls\":[", getpid());
}

/* Begin a row, with member KIND for NAME; the caller adds members and closes the brace. */
static inline void put_row_of(const char *kind, pid_t tid, const char *comm, const char *name,
			      uint64_t count, uint64_t errors)
{
	put("%s{\"tid\":%d,", json[json_length - 1] == '[' ? "" : ",", tid);
	put_string("comm", comm);
	put(",");
	put_string(kind, name);
	put(",\"count\":%llu,\"errors\":%llu", (unsigned long long)count,
	    (unsigned long long)errors);
}

static inline void put_row(pid_t tid, const char *comm, const char *name, uint64_t count,
			   uint64_t errors)
{
	put_row_of("syscall", tid, comm, name, count, errors);
}

/* A row of the calling thread without further members. */
static inline void put_plain_row(const char *name, uint64_t count, uint64_t errors)
{
	char comm[16];

	own_comm(comm);
	put_row(own_tid(), comm, name, count, errors);
	put("}");
}

static inline void report_end(void)
{
	const char *path = getenv("WORKLOAD_JSON");
	struct iovec all = {.iov_base = json};
	int fd = 1;

	put("]}\n");
	if (path && *path)
		fd = open_uncounted(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
	all.iov_len = json_length;
	if (fd < 0 || syscall(SYS_writev, fd, &all, 1) != (ssize_t)json_length)
		die("%s: %s", fd == 1 ? "stdout" : path, strerror(errno));
}
