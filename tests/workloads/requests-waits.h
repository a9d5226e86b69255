/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* requests: servers that are in the kernel, or wait for something else than a time. */
#pragma once

#include "requests-servers.h"
#include <fcntl.h>
#include <sys/random.h>

/* In the kernel, but for a little. */
static void spin_in_calls(struct sample *s)
{
	static char bytes[1 << 16];
	const uint64_t end = cpu_ns() + PLANTED;
	uint64_t before, inside = 0;

	while (cpu_ns() < end) {
		before = cpu_ns();
		if (getrandom(bytes, sizeof(bytes), 0) < 0)
			die("getrandom: %s", strerror(errno));
		inside += cpu_ns() - before;
	}
	s->planted = inside;
}

static void serve_in_calls(int fd)
{
	serve_by(fd, spin_in_calls);
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int holder_pipe[2], held_pipe[2];
static _Atomic uint64_t unlocked;

static void *hold(void *arg)
{
	char byte;

	(void)arg;
	rename_self("r-holder");
	while (read(holder_pipe[0], &byte, 1) == 1) {
		pthread_mutex_lock(&held);
		if (write(held_pipe[1], &byte, 1) != 1)
			die("write: %s", strerror(errno));
		pause_ns(PLANTED);
		unlocked = now_ns();
		pthread_mutex_unlock(&held);
	}
	return NULL;
}

/* It sleeps until the mutex is unlocked, but for what the call itself takes. */
static void wait_for_lock(struct sample *s)
{
	uint64_t began, before;
	char byte = 0;

	if (write(holder_pipe[1], &byte, 1) != 1 || read(held_pipe[0], &byte, 1) != 1)
		die("no thread that holds the lock");
	before = cpu_ns();
	began = now_ns();
	pthread_mutex_lock(&held);
	before = cpu_ns() - before;
	s->planted = unlocked > began + before ? unlocked - began - before : 0;
	pthread_mutex_unlock(&held);
}

static void serve_locked(int fd)
{
	pthread_t holder;

	make_pipe(holder_pipe);
	make_pipe(held_pipe);
	pthread_create(&holder, NULL, hold, NULL);
	serve_by(fd, wait_for_lock);
	close(holder_pipe[1]);
	pthread_join(holder, NULL);
}

static int synced_file;

/* With the time that it may have waited for a CPU. */
static void sync_file(struct sample *s)
{
	static const char bytes[4096];
	uint64_t began, before;

	if (pwrite(synced_file, bytes, sizeof(bytes), 0) != sizeof(bytes))
		die("pwrite: %s", strerror(errno));
	began = now_ns();
	before = cpu_ns();
	if (fsync(synced_file))
		die("fsync: %s", strerror(errno));
	before = cpu_ns() - before;
	s->planted = now_ns() - began - before;
}

static void serve_synced(int fd)
{
	char path[] = "requests.XXXXXX";

	synced_file = mkostemp(path, O_CLOEXEC);
	if (synced_file < 0 || unlink(path))
		die("%s: %s", path, strerror(errno));
	serve_by(fd, sync_file);
	close(synced_file);
}
