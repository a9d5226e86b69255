// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* userfault: pages that come late, because another thread resolves the faults (userfaultfd). */
#pragma once

#include "workload.h"
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>

static struct {
	int fd;
	void *page; /* what comes */
	long size;
	uint64_t delay_ns; /* 0: until the gate "leave" is open; the fault is then "done" */
	atomic_int *held;  /* NULL: DELAY_NS; else until it is 0 */
	void (*hold)(uint64_t address); /* instead, unless NULL: returns when it is to come */
} userfault;

static void userfault_wait(uint64_t address)
{
	if (userfault.hold) {
		userfault.hold(address);
		return;
	}
	if (userfault.held) {
		while (atomic_load(userfault.held))
			pause_ns(200000);
		return;
	}
	if (userfault.delay_ns) {
		pause_ns(userfault.delay_ns);
		return;
	}
	reached("done");
	gate("leave");
}

static void *userfault_resolve(void *arg)
{
	struct pollfd event = {.fd = userfault.fd, .events = POLLIN};
	struct uffd_msg message;
	struct uffdio_copy copy = {.src = (uintptr_t)userfault.page, .len = userfault.size};

	for (;;) {
		if (poll(&event, 1, -1) < 0 ||
		    read(userfault.fd, &message, sizeof(message)) != sizeof(message))
			continue;
		userfault_wait(message.arg.pagefault.address);
		copy.dst = message.arg.pagefault.address & -userfault.size;
		if (ioctl(userfault.fd, UFFDIO_COPY, &copy))
			die("UFFDIO_COPY: %s", strerror(errno));
	}
	return arg;
}

/* False: this kernel has no userfaultfd.  PAGE has SIZE bytes and is not touched yet. */
static bool userfault_begin(char *at, size_t length, char *page, long size, uint64_t delay_ns)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {
		.range = {(uintptr_t)at, length},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	pthread_t thread;

	*page = 1;
	userfault.fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	userfault.page = page;
	userfault.size = size;
	userfault.delay_ns = delay_ns;
	if (userfault.fd < 0)
		return false;
	if (ioctl(userfault.fd, UFFDIO_API, &api) || ioctl(userfault.fd, UFFDIO_REGISTER, &range))
		die("userfaultfd: %s", strerror(errno));
	if (pthread_create(&thread, NULL, userfault_resolve, NULL))
		die("pthread_create");
	return true;
}
