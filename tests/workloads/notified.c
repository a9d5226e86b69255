// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* notified: calls that wait on their way in, for a notifier of seccomp. */
#include "workload.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>

const char usage[] =
	"Usage: notified CALLS US\n"
	"\n"
	"Calls ppoll CALLS times, each held for US before it begins, by a thread that seccomp\n"
	"notifies of it. Times are between reads of the clock around a call, ns.\n"
	"Gates: ready, go.\n";

static uint64_t held_ns;
static int listener = -1;
static pthread_barrier_t listens;

static void *let_begin(void *arg)
{
	const struct timespec held = {.tv_nsec = held_ns};
	struct seccomp_notif_resp answer;
	struct seccomp_notif call;

	pthread_barrier_wait(&listens);
	for (;;) {
		memset(&call, 0, sizeof(call));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
			return arg;
		nanosleep(&held, NULL);
		answer = (struct seccomp_notif_resp){
			.id = call.id,
			.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
		};
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

/* The calling thread's calls of ppoll are notified of; the other thread's, which is there, are
 * not. */
static void ask(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ppoll, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = 4, .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		die("PR_SET_NO_NEW_PRIVS: %s", strerror(errno));
	listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			   &program);
	if (listener < 0)
		die("seccomp: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct timespec at_once;
	struct series calls;
	pthread_t thread;
	uint64_t n, began;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("CALLS and US are needed");
	n = parse_number(argv[1], "CALLS", 1, 100000);
	held_ns = parse_number(argv[2], "US", 1, 900000) * 1000;
	series_init(&calls, n);
	if (pthread_barrier_init(&listens, NULL, 2) ||
	    pthread_create(&thread, NULL, let_begin, NULL))
		die("cannot create a thread");
	reached("ready");
	gate("go");
	ask();
	pthread_barrier_wait(&listens);
	while (calls.count < n) {
		began = now_ns();
		syscall(SYS_ppoll, NULL, 0, &at_once, NULL, 0);
		series_add(&calls, now_ns() - began, false);
	}
	report_begin();
	put_row(own_tid(), "notified", "ppoll", calls.count, 0);
	put(",");
	put_figures(&calls);
	put("}");
	report_end();
	return 0;
}
