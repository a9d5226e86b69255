/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/parse.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/thread.h>

#define PIDFD_THREAD O_EXCL /* include/uapi/linux/pidfd.h */

/* include/linux/proc_ns.h: PROC_PID_INIT_INO, the inode of the initial pid namespace. */
#define INIT_PID_NS 0xEFFFFFFCU

/* By inode; 0: the host's.  *HAS_PROC: /proc is of this one. */
static uint32_t own_pid_namespace(bool *has_proc)
{
	static bool is_known, is_own;
	static uint32_t own;
	char self[16] = "", pid[16];
	struct stat st;

	if (!is_known) {
		is_known = true;
		own = stat("/proc/self/ns/pid", &st) || st.st_ino == INIT_PID_NS ? 0 : st.st_ino;
		snprintf(pid, sizeof(pid), "%d", getpid());
		is_own = readlink("/proc/self", self, sizeof(self) - 1) > 0 && !strcmp(self, pid);
	}
	*has_proc = is_own;
	return own;
}

uint32_t plumb_pid_namespace(void)
{
	bool has_proc;
	uint32_t own = own_pid_namespace(&has_proc);

	return has_proc ? own : 0;
}

bool plumb_pids_are_foreign(void)
{
	bool has_proc;

	return own_pid_namespace(&has_proc) && !has_proc;
}

int plumb_thread_read(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd, err;

	*text = 0;
	if (plumb_pids_are_foreign()) /* it would be another thread */
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	err = n < 0 ? -errno : 0;
	text[n < 0 ? 0 : n] = 0;
	close(fd);
	return err;
}

void plumb_thread_comm(uint32_t pid, uint32_t tid, char comm[PLUMB_COMM_LEN])
{
	char text[PLUMB_COMM_LEN + 1];

	/* A thread that calls execve() gets the tid of the main thread, if it is another. */
	if (plumb_thread_read(pid, tid, "comm", text, sizeof(text)) &&
	    plumb_thread_read(pid, pid, "comm", text, sizeof(text)))
		strcpy(text, "?");
	if (*text && text[strlen(text) - 1] == '\n')
		text[strlen(text) - 1] = 0;
	snprintf(comm, PLUMB_COMM_LEN, "%s", text);
}

void plumb_thread_who(uint32_t pid, uint32_t tid, uint32_t by, struct plumb_who *who)
{
	struct plumb_thread_stat stat;

	*who = (struct plumb_who){.pid = pid, .tid = tid};
	if (by & PLUMB_BY_CGROUPS)
		who->cgroup = plumb_cgroup_of(pid, tid);
	if (by & PLUMB_BY_COMM)
		plumb_thread_comm(pid, tid, who->comm);
	if (by & PLUMB_BY_PROCESS)
		plumb_thread_comm(pid, pid, who->process);
	if (by & PLUMB_BY_CPU && !plumb_thread_stat(pid, tid, &stat))
		who->cpu = stat.cpu;
}

#define SKIP_6 " %*s %*s %*s %*s %*s %*s"

int plumb_thread_stat(uint32_t pid, uint32_t tid, struct plumb_thread_stat *stat)
{
	unsigned long long ticks;
	const char *rest;
	char text[1024];
	int err = plumb_thread_read(pid, tid, "stat", text, sizeof(text));

	if (err)
		return err;
	/* Fields 3, 22 and 39; the name before them may contain any characters. */
	rest = strrchr(text, ')');
	if (!rest ||
	    sscanf(rest, ") %c" SKIP_6 SKIP_6 SKIP_6 " %llu" SKIP_6 SKIP_6 " %*s %*s %*s %*s %u",
		   &stat->state, &ticks, &stat->cpu) != 3)
		return -EINVAL;
	stat->begun = ticks * (PLUMB_SECOND / sysconf(_SC_CLK_TCK));
	return 0;
}

/* The time when the thread last ran, by the scheduler's clock (ns). */
static uint64_t last_run(uint32_t pid, uint32_t tid)
{
	unsigned long long ms, ns;
	char text[2048];
	const char *line;

	plumb_thread_read(pid, tid, "sched", text, sizeof(text));
	line = strstr(text, "\nse.exec_start");
	if (!line || sscanf(line, " se.exec_start : %llu.%6llu", &ms, &ns) != 2)
		return 0;
	return ms * 1000000 + ns;
}

/*
 * The ns by which CLOCK_MONOTONIC is ahead of the scheduler's clock of a CPU; 0: not known.  This
 * thread runs on that CPU for a moment to find out, if it is permitted.  The scheduler's clock
 * excludes the time of interrupts and of the hypervisor, so the clocks of CPUs drift apart.
 * Therefore the difference is valid for one second only.
 */
static uint64_t clock_ahead(uint32_t cpu)
{
	static struct {
		uint64_t ahead, taken;
	} of[CPU_SETSIZE];
	uint64_t now = plumb_now();
	cpu_set_t all, one;

	if (cpu >= CPU_SETSIZE)
		return 0;
	if (of[cpu].taken && now - of[cpu].taken < PLUMB_SECOND)
		return of[cpu].ahead;
	of[cpu].ahead = 0;
	of[cpu].taken = now;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_getaffinity(0, sizeof(all), &all) || sched_setaffinity(0, sizeof(one), &one))
		return 0;
	sched_yield(); /* updates se.exec_start */
	of[cpu].ahead = plumb_now() - last_run(getpid(), gettid());
	sched_setaffinity(0, sizeof(all), &all);
	return of[cpu].ahead;
}

uint64_t plumb_thread_slept(uint32_t pid, uint32_t tid)
{
	uint64_t ran = last_run(pid, tid), ahead;
	struct plumb_thread_stat stat;

	if (!ran || plumb_thread_stat(pid, tid, &stat))
		return 0;
	ahead = clock_ahead(stat.cpu);
	return ahead ? ran + ahead : 0;
}

uint32_t plumb_thread_process(uint32_t tid)
{
	char path[32], line[64];
	uint64_t tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "Tgid:\t", 6)) {
			line[strcspn(line, "\n")] = 0;
			plumb_parse_u64(line + 6, 1, UINT32_MAX, &tgid);
			break;
		}
	fclose(f);
	return tgid;
}

/* Whether the main thread of a process has ended. */
static bool main_thread_is_over(uint32_t pid)
{
	char path[32], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	/* The name between the parentheses can contain any of these characters. */
	for (int c, before = 0; (c = fgetc(f)) != EOF; before = c)
		if (before == ')' && c == ' ')
			state = fgetc(f);
	fclose(f);
	return state == 'Z' || state == 'X';
}

bool plumb_process_is_zombie(uint32_t pid)
{
	char path[32];
	DIR *threads;
	bool is = true;

	/*
	 * The kernel remembers entries of /proc/PID/task that were read, and has more to do when
	 * such a thread ends: those of a process that is traced are not read.
	 */
	if (!main_thread_is_over(pid))
		return false;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	threads = opendir(path);
	if (!threads)
		return false;
	/* The main thread may have ended before the others. */
	for (struct dirent *entry; is && (entry = readdir(threads));) {
		struct plumb_thread_stat stat;
		uint64_t tid;

		if (!plumb_parse_u64(entry->d_name, 1, UINT32_MAX, &tid))
			is = !plumb_thread_stat(pid, tid, &stat) && strchr("ZX", stat.state);
	}
	closedir(threads);
	return is;
}

bool plumb_threads_have_pidfds(void)
{
	static int have = -1; /* not asked yet */
	int fd;

	if (have < 0) {
		fd = syscall(SYS_pidfd_open, getpid(), PIDFD_THREAD);
		have = fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	return have;
}

int plumb_thread_pidfd(uint32_t tid)
{
	return syscall(SYS_pidfd_open, tid, plumb_threads_have_pidfds() ? PIDFD_THREAD : 0);
}
