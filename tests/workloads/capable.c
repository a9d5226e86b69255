// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* capable: a program as an unprivileged user with given capabilities. */
#include "workload.h"

#include <grp.h>
#include <linux/capability.h>

const char usage[] =
	"Usage: capable CAP[,CAP...]|none COMMAND [ARG...]\n"
	"Run COMMAND as user and group 65534, with these capabilities as ambient ones: "
	"bpf, perfmon,\n"
	"syslog, sys_ptrace, sys_admin, dac_read_search, ...\n";

static const struct {
	const char *name;
	unsigned int bit;
} names[] = {
	{"bpf", CAP_BPF},
	{"checkpoint_restore", CAP_CHECKPOINT_RESTORE},
	{"chown", CAP_CHOWN},
	{"dac_override", CAP_DAC_OVERRIDE},
	{"dac_read_search", CAP_DAC_READ_SEARCH},
	{"fowner", CAP_FOWNER},
	{"perfmon", CAP_PERFMON},
	{"sys_admin", CAP_SYS_ADMIN},
	{"sys_nice", CAP_SYS_NICE},
	{"sys_ptrace", CAP_SYS_PTRACE},
	{"syslog", CAP_SYSLOG},
};

static uint64_t parse(char *list)
{
	uint64_t bits = 0;
	size_t i;

	if (!strcmp(list, "none"))
		return 0;
	for (char *one = strtok(list, ","); one; one = strtok(NULL, ",")) {
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strcmp(one, names[i].name))
				break;
		if (i == sizeof(names) / sizeof(names[0]))
			misuse("no such capability here: %s", one);
		bits |= 1ULL << names[i].bit;
	}
	return bits;
}

static void set(uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};

	for (int i = 0; i < 2; i++) {
		data[i].permitted = data[i].effective = permitted >> 32 * i;
		data[i].inheritable = inheritable >> 32 * i;
	}
	if (syscall(SYS_capset, &header, data))
		die("capset: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	uint64_t bits;

	help_if_asked(argc, argv);
	if (argc < 3)
		misuse("CAP and COMMAND are needed");
	bits = parse(argv[1]);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) ||
	    setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		die("cannot become user 65534: %s", strerror(errno));
	set(bits, bits);
	for (unsigned int c = 0; c < 64; c++)
		if (bits >> c & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c, 0, 0))
			die("PR_CAP_AMBIENT_RAISE: %s", strerror(errno));
	execvp(argv[2], argv + 2);
	die("%s: %s", argv[2], strerror(errno));
}
