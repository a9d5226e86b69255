// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* refused: calls that seccomp refuses.  They have an exit, but no entry (sys_enter). */
#include "workload.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

const char usage[] = "Usage: refused ALLOWED REFUSED\n"
		     "Call getppid ALLOWED times; then, under a seccomp filter that gives EPERM, "
		     "REFUSED times.\n"
		     "\n"
		     "Gates: ready, go.\n";

static void refuse_getppid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(code) / sizeof(*code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)) {
		fprintf(stderr, "refused: no seccomp here: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
}

int main(int argc, char **argv)
{
	uint64_t allowed, refused, i;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("ALLOWED and REFUSED are needed");
	allowed = parse_number(argv[1], "ALLOWED", 0, 10000000);
	refused = parse_number(argv[2], "REFUSED", 0, 10000000);
	reached("ready");
	gate("go");
	for (i = 0; i < allowed; i++)
		syscall(SYS_getppid);
	refuse_getppid();
	for (i = 0; i < refused; i++)
		if (syscall(SYS_getppid) != -1 || errno != EPERM)
			die("getppid was not refused");
	report_begin();
	put_plain_row("getppid", allowed, 0);
	put("%s", ",{\"refused\":true,");
	put_string("syscall", "getppid");
	put(",\"count\":%llu,\"errors\":%llu}", (unsigned long long)refused,
	    (unsigned long long)refused);
	report_end();
	return 0;
}
