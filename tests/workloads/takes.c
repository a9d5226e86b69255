// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* takes: what another process can be made to give. */
#include "workload.h"

#include <dirent.h>
#include <sys/ptrace.h>

const char usage[] = "Usage: takes PID\n"
		     "Print which of these work on process PID: \"fd\", list its file "
		     "descriptors; \"pidfd_getfd\",\n"
		     "take one; \"mem\", open its memory; \"ptrace\", attach to it. \"none\": "
		     "nothing works.\n";

static bool lists_descriptors(pid_t pid)
{
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	return folder && !closedir(folder);
}

static bool takes_descriptor(pid_t pid)
{
	int process = syscall(SYS_pidfd_open, pid, 0);

	if (process < 0)
		die("pidfd_open: %s", strerror(errno));
	for (int fd = 0; fd < 64; fd++)
		if (syscall(SYS_pidfd_getfd, process, fd, 0) >= 0)
			return true;
	return false;
}

static bool opens_memory(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return open(path, O_RDWR | O_CLOEXEC) >= 0;
}

/* To the end of this process. */
static bool attaches(pid_t pid)
{
	return !ptrace(PTRACE_SEIZE, pid, 0, 0);
}

int main(int argc, char **argv)
{
	pid_t pid;
	bool fd, taken, memory, attached;

	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("PID is needed");
	pid = parse_number(argv[1], "PID", 1, INT32_MAX);
	fd = lists_descriptors(pid);
	taken = takes_descriptor(pid);
	memory = opens_memory(pid);
	attached = attaches(pid);
	printf("%s%s%s%s%s\n", fd ? "fd " : "", taken ? "pidfd_getfd " : "", memory ? "mem " : "",
	       attached ? "ptrace" : "", fd || taken || memory || attached ? "" : "none");
	return 0;
}
