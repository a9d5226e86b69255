/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* causes: threads that wait for one another, for a disk, or for another process. */
#pragma once

#include "causes.h"
#include <poll.h>
#include "addresses.h"
#include "userfault.h"

#define BLOCK      4096
#define HELD       (20 * MS)
#define FREE       (30 * MS)
#define ANSWER     (30 * MS)
#define FILE_BYTES (256 << 10)

static uint64_t duration; /* ns */
static char peer[32];     /* ADDRESS:PORT */
static int file;

/* ---- locks ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void hold_mutex(struct worker *w)
{
	for (; now_ns() < w->until; pause_ns(FREE)) {
		pthread_mutex_lock(&mutex);
		pause_ns(HELD);
		pthread_mutex_unlock(&mutex);
		w->count++;
	}
}

static void want_mutex(struct worker *w)
{
	struct clocks began;

	for (; now_ns() < w->until; pause_ns(MS)) {
		began = clocks_now();
		pthread_mutex_lock(&mutex);
		add_sleep(w, &began);
		pthread_mutex_unlock(&mutex);
	}
}

static char *late; /* each page of it comes HELD later */
static long page;

static void open_file(int flags)
{
	file = open_uncounted("causes.data", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | flags);
	if (file < 0 || unlink("causes.data"))
		die("causes.data: %s", strerror(errno));
}

static void begin_inode(void)
{
	size_t size;

	page = sysconf(_SC_PAGESIZE);
	size = (duration / (HELD + FREE) + 2) * page;
	open_file(0);
	late = fresh_memory(size);
	if (!userfault_begin(late, size, fresh_memory(page), page, HELD)) {
		fprintf(stderr, "userfaultfd: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
}

/* The kernel reads what is written while it holds the inode's lock. */
static void hold_inode(struct worker *w)
{
	for (; now_ns() < w->until; pause_ns(FREE)) {
		if (pwrite(file, late + w->count * page, 1, 0) != 1)
			die("pwrite: %s", strerror(errno));
		w->count++;
	}
}

static void want_inode(struct worker *w)
{
	struct clocks began;

	for (; now_ns() < w->until; pause_ns(MS)) {
		began = clocks_now();
		if (write(file, "x", 1) != 1)
			die("write: %s", strerror(errno));
		add_sleep(w, &began);
	}
}

/* ---- disks ---- */

static char blocks[FILE_BYTES] __attribute__((aligned(BLOCK)));

static void begin_fsync(void)
{
	open_file(0);
}

static void begin_read(void)
{
	open_file(O_DIRECT);
	if (pwrite(file, blocks, FILE_BYTES, 0) != FILE_BYTES || fsync(file))
		die("pwrite: %s", strerror(errno));
}

/* As much as makes what a switch takes small beside a sleep; of reads one time FILE_BYTES. */
#define AT_ONCE 8 /* times FILE_BYTES */

static void write_to_disk(struct worker *w)
{
	struct clocks began;

	while (now_ns() < w->until) {
		began = clocks_now();
		for (int i = 0; i < AT_ONCE; i++)
			if (pwrite(file, blocks, FILE_BYTES, i * FILE_BYTES) != FILE_BYTES)
				die("pwrite: %s", strerror(errno));
		if (fsync(file))
			die("fsync: %s", strerror(errno));
		add_sleep(w, &began);
	}
}

static void read_disk(struct worker *w)
{
	struct clocks began;

	while (now_ns() < w->until) {
		began = clocks_now();
		if (pread(file, blocks, FILE_BYTES, 0) != FILE_BYTES)
			die("pread: %s", strerror(errno));
		add_sleep(w, &began);
	}
}

/* ---- the network, and time ---- */

static int listener;

static void answer(void)
{
	int fd = checked(accept4(listener, NULL, NULL, SOCK_CLOEXEC), "accept");
	char byte;

	/* It goes on to listen: so its client can be told from a server that it asks. */
	while (recv(fd, &byte, 1, 0) == 1) {
		pause_ns(ANSWER);
		send(fd, &byte, 1, MSG_NOSIGNAL);
	}
}

static void begin_peer(void)
{
	struct sockaddr_in name = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(name);

	listener = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	checked(bind(listener, (void *)&name, size), "bind");
	checked(listen(listener, 1), "listen");
	checked(getsockname(listener, (void *)&name, &size), "getsockname");
	start_other("c-server", answer);
	close(listener);
	file = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	checked(connect(file, (void *)&name, size), "connect");
	snprintf(peer, sizeof(peer), "127.0.0.1:%u", ntohs(name.sin_port));
}

static void ask(struct worker *w)
{
	struct clocks began;
	char byte = 0;

	while (now_ns() < w->until) {
		began = clocks_now();
		if (send(file, &byte, 1, MSG_NOSIGNAL) != 1 || recv(file, &byte, 1, 0) != 1)
			die("recv: %s", strerror(errno));
		add_sleep(w, &began);
	}
}

static void ask_by_poll(struct worker *w)
{
	struct pollfd one = {.fd = file, .events = POLLIN};
	struct clocks began;
	char byte = 0;

	while (now_ns() < w->until) {
		began = clocks_now();
		if (send(file, &byte, 1, MSG_NOSIGNAL) != 1 || poll(&one, 1, -1) != 1 ||
		    recv(file, &byte, 1, 0) != 1)
			die("poll: %s", strerror(errno));
		add_sleep(w, &began);
	}
}

/* Whenever its nap is over it wants a CPU. */
static void nap_late(struct worker *w)
{
	const struct clocks began = clocks_now();

	for (; now_ns() < w->until; w->count++)
		pause_ns(3 * MS);
	w->low = w->high = clocks_since(&began).delay;
}

static void be_renamed(struct worker *w)
{
	const uint64_t began = now_ns(), half = began + (w->until - began) / 2;

	while (now_ns() < half)
		pause_ns(7 * MS);
	w->low = w->high = now_ns() - began;
	rename_self("c-later");
	while (now_ns() < w->until)
		pause_ns(7 * MS);
}

static pthread_t asleep;
static _Atomic uint64_t woken_since; /* when that thread got its other name */

static void be_renamed_asleep(struct worker *w)
{
	asleep = pthread_self();
	pause_ns(w->until - now_ns());
	w->low = w->high = now_ns() - woken_since;
}

/* Without sleeping between two names. */
static void rename_often(struct worker *w)
{
	const uint64_t half = now_ns() + (w->until - now_ns()) / 2;
	uint64_t began, to;

	for (; (began = now_ns()) < w->until; w->count++) {
		for (to = began + 2 * MS; now_ns() < to;)
			;
		rename_self("c-there");
		w->low += now_ns() - began;
		for (to += 3 * MS; now_ns() < to;)
			;
		rename_self(w->comm);
		if (woken_since || now_ns() < half)
			continue;
		pthread_setname_np(asleep, "c-woken");
		woken_since = now_ns();
	}
	w->high = w->low;
}

static void be_asleep(struct worker *w)
{
	struct clocks began;

	while (now_ns() < w->until) {
		began = clocks_now();
		pause_ns(7 * MS);
		add_sleep(w, &began);
	}
}
