// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sandboxed: calls of its own function under a seccomp filter, as sandboxes have it. */
#include "workload.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

const char usage[] = "Usage: sandboxed N\n"
		     "N times call sandboxed_leaf, in a process that a seccomp filter ends if it "
		     "makes a system\n"
		     "call of a number between those of x86_64 and the common ones (335 to 423, "
		     "where Linux 6.11\n"
		     "has uretprobe).\n"
		     "\n"
		     "Gates: ready, go.\n";

#define FIRST 335
#define LAST  423

__attribute__((noipa, noinline)) int sandboxed_leaf(int n)
{
	return n + 1;
}

static void enter_sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(code) / sizeof(*code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		die("seccomp: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	uint64_t n;

	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("N is needed");
	n = parse_number(argv[1], "N", 1, 1000000);
	reached("ready");
	gate("go");
	enter_sandbox();
	for (uint64_t i = 0; i < n; i++)
		sandboxed_leaf(i);
	report_begin();
	put_row_of("function", own_tid(), "sandboxed", "sandboxed_leaf", n, 0);
	put("}");
	report_end();
	return 0;
}
