// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bpf-alive: the BPF programs and maps that the kernel still holds. */
#include "workload.h"
#include <linux/bpf.h>

const char usage[] =
	"Usage: bpf-alive of PID\n"
	"       bpf-alive wait MILLISECONDS [ID...]\n"
	"of    print the ids of the BPF programs that PID has open, one line\n"
	"wait  until the kernel holds none of the programs ID, at most so long: exit status 0\n"
	"      when all are gone, 1 (and a line naming them) when some are not\n";

static bool is_loaded(uint32_t id)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	fd = syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
	if (fd >= 0) {
		close(fd); /* otherwise this fd keeps it alive */
		return true;
	}
	if (errno != ENOENT)
		die("bpf: %s", strerror(errno));
	return false;
}

static void print_programs_of(pid_t pid)
{
	char path[64], line[256];
	unsigned int fd, id;
	FILE *info;

	for (fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%u", pid, fd);
		info = fopen(path, "re");
		if (!info)
			continue;
		while (fgets(line, sizeof(line), info))
			if (sscanf(line, "prog_id:%u", &id) == 1)
				printf("%u ", id);
		fclose(info);
	}
	puts("");
}

static int wait_gone(uint64_t ms, char **ids)
{
	uint64_t deadline = now_ns() + ms * 1000000;
	bool left = false;

	for (; *ids; ids++) {
		uint32_t id = parse_number(*ids, "ID", 1, UINT32_MAX);

		while (is_loaded(id) && now_ns() < deadline)
			pause_ns(5000000);
		if (is_loaded(id)) {
			printf("%sprogram %u is still loaded", left ? "; " : "", id);
			left = true;
		}
	}
	if (left)
		puts("");
	return left;
}

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc == 3 && !strcmp(argv[1], "of")) {
		print_programs_of(parse_number(argv[2], "PID", 1, INT32_MAX));
		return 0;
	}
	if (argc >= 3 && !strcmp(argv[1], "wait"))
		return wait_gone(parse_number(argv[2], "MILLISECONDS", 0, 60000), argv + 3);
	misuse("'of PID' or 'wait MILLISECONDS ID...' is needed");
}
