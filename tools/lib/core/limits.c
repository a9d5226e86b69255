/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* limits: resource limits.  If one is reached, errors of libbpf and the kernel are misleading. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <plumb/core/reasons.h>

/* More than any tool needs before it attaches probes. */
#define FILES  64
#define MEMORY (32UL << 20)

static bool is_short_of_files(rlim_t most)
{
	DIR *open = opendir("/proc/self/fd");
	rlim_t n = 0;

	if (!open)
		return errno == EMFILE;
	while (readdir(open))
		n++;
	closedir(open);
	return n + FILES > most;
}

bool plumb_has_memory(void)
{
	void *room = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return room != MAP_FAILED && !munmap(room, MEMORY);
}

const char *plumb_limit_hit(int err)
{
	static _Thread_local char text[96];
	struct rlimit files;

	if (err == -ENFILE)
		return ", the system has too many open files (fs.file-max)";
	if (err == -ENOMEM)
		return ", no memory (ulimit -v, -d and -l; memory.max)";
	if (getrlimit(RLIMIT_NOFILE, &files) ||
	    (err != -EMFILE && !is_short_of_files(files.rlim_cur)))
		return NULL;
	snprintf(text, sizeof(text), ", too many open files (ulimit -n is %llu)",
		 (unsigned long long)files.rlim_cur);
	return text;
}
