/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page fault: what a tool of page faults is calibrated on. */
#include <sys/mman.h>
#include <unistd.h>
#include <plumb/cost/calibrate.h>

/* The time of madvise() is in all of the compared loops. */
void plumb_page_fault(void)
{
	static volatile char *page;
	const size_t size = sysconf(_SC_PAGESIZE);

	if (!page)
		page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || madvise((void *)page, size, MADV_DONTNEED))
		return;
	*page = 1;
}
