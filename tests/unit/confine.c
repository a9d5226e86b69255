// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* confine: what a tool can still do, and what /proc says of it. */
#include "apart.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/guard/confine.h>

/* --- what a tool does once it is confined --- */

static int goes_on(void)
{
	char text[64], *more;
	sigset_t none;
	int fd;

	plumb_retain_nothing();
	if (plumb_confine())
		return 2;
	fd = open("/proc/self/status", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text)) <= 0 || close(fd))
		return 3;
	more = malloc(64 << 20); /* by mmap */
	if (!more || usleep(1))
		return 4;
	memset(more, 1, 1 << 20);
	free(more);
	sigemptyset(&none);
	if (signal(SIGUSR1, SIG_IGN) == SIG_ERR || raise(SIGUSR1) || !fork())
		return 5;
	return fprintf(stderr, "done\n") < 0;
}

static void it_goes_on(void **state)
{
	assert_int_equal(apart(goes_on), 0);
	assert_string_equal(complaint, "done\n");
}

static int signals(void)
{
	plumb_retain_signals(0, getppid(), "the end of the command");
	if (plumb_confine())
		return 2;
	return kill(getppid(), 0) || !kill(getpid(), 0) || errno != EPERM ||
	       syscall(SYS_pidfd_send_signal, -1, 0, NULL, 0) != -1 || errno != EPERM;
}

static void signals_to_one_process_are_to_no_other(void **state)
{
	assert_int_equal(apart(signals), 0);
}

/* --- capabilities, as /proc tells another process --- */

struct status {
	uint64_t inheritable, permitted, effective, bounding, ambient;
	unsigned int no_new_privileges, seccomp;
};

static struct status status_of(pid_t pid)
{
	struct status s = {.seccomp = 99};
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "CapInh: %" SCNx64, &s.inheritable);
		sscanf(line, "CapPrm: %" SCNx64, &s.permitted);
		sscanf(line, "CapEff: %" SCNx64, &s.effective);
		sscanf(line, "CapBnd: %" SCNx64, &s.bounding);
		sscanf(line, "CapAmb: %" SCNx64, &s.ambient);
		sscanf(line, "NoNewPrivs: %u", &s.no_new_privileges);
		sscanf(line, "Seccomp: %u", &s.seccomp);
	}
	fclose(f);
	return s;
}

/* What F has made of a child that then waits; the owner of its files there, who may trace it. */
static struct status after(int (*f)(void), uid_t *owner)
{
	int ready[2], end[2];
	struct status s;
	struct stat st;
	char path[32], byte = 0;
	pid_t child;

	assert_int_equal(pipe(ready) | pipe(end), 0);
	listen_to_stderr();
	child = fork();
	if (!child) {
		close(end[1]);
		byte = f();
		_exit(write(ready[1], &byte, 1) != 1 || read(end[0], &byte, 1) < 0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	complaint = said();
	check(!byte, "%s", complaint);
	s = status_of(child);
	snprintf(path, sizeof(path), "/proc/%d/maps", child);
	assert_int_equal(stat(path, &st), 0);
	*owner = st.st_uid;
	close(end[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(ready[0]);
	close(end[0]);
	return s;
}

static int keeps_two(void)
{
	plumb_retain(PLUMB_CAP(SYS_NICE), PLUMB_CALLS_READ_MAPS, "reports");
	plumb_retain(PLUMB_CAP(CHOWN), PLUMB_CALLS_WRITE_MAPS, "reports");
	plumb_retain(0, PLUMB_CALLS_CONNECT, "records");
	plumb_verbosity = 1;
	return plumb_confine();
}

static int gives_up_but_one(void)
{
	plumb_verbosity = 1;
	return plumb_give_up(PLUMB_CAP(SYS_NICE));
}

static int confines_another_user(void)
{
	return setgid(1) || setuid(1) || prctl(PR_SET_DUMPABLE, 1) ? 1 : plumb_confine();
}

static void only_what_is_kept_is_held(void **state)
{
	const struct status before = status_of(getpid());
	const uint64_t two = PLUMB_CAP(SYS_NICE) | PLUMB_CAP(CHOWN);
	uid_t owner;
	const struct status s = after(keeps_two, &owner);

	assert_int_equal(s.permitted, before.permitted & two);
	assert_int_equal(s.effective, before.permitted & two);
	assert_int_equal(s.inheritable | s.ambient, 0);
	if (before.effective & PLUMB_CAP(SETPCAP))
		assert_int_equal(s.bounding, 0);
	assert_int_equal(s.no_new_privileges, 1);
	assert_int_equal(s.seccomp, 2);
	if ((before.permitted & two) == two)
		assert_string_equal(complaint,
				    "confine: confined: keeps CAP_CHOWN, CAP_SYS_NICE, bpf(2) to "
				    "read maps, to change maps for reports; connecting open "
				    "sockets for records\n");
}

static void without_the_filter(void **state)
{
	const struct status before = status_of(getpid());
	uid_t owner;
	const struct status s = after(gives_up_but_one, &owner);

	assert_int_equal(s.permitted, before.permitted & PLUMB_CAP(SYS_NICE));
	assert_int_equal(s.effective, s.permitted);
	assert_int_equal(s.inheritable | s.ambient, 0);
	assert_int_equal(s.no_new_privileges, 1);
	assert_int_equal(s.seccomp, before.seccomp);
}

/* Who could trace it would have its maps and programs. */
static void its_user_cannot_trace_it(void **state)
{
	uid_t owner;

	if (geteuid())
		skip();
	assert_int_equal(after(confines_another_user, &owner).permitted, 0);
	assert_int_equal(owner, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_goes_on),
		cmocka_unit_test(signals_to_one_process_are_to_no_other),
		cmocka_unit_test(only_what_is_kept_is_held),
		cmocka_unit_test(without_the_filter),
		cmocka_unit_test(its_user_cannot_trace_it),
	};

	return run_all(tests);
}
