/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* requests: what the servers do. */
#pragma once

#include "requests.h"
#include "ring.h"
#include <poll.h>
#include <sys/sendfile.h>

#define MS      1000000ULL
#define PLANTED (2 * MS)
#define CLIENTS 2
#define MOST    4096

static struct sample samples[CLIENTS][MOST];
static _Atomic uint64_t progress; /* of the server, within a request */

/* --- what a server does in a request --- */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* It is asleep but for what the call itself takes. */
static void doze(struct sample *s)
{
	const uint64_t before = cpu_ns();
	uint64_t used;

	pause_ns(PLANTED);
	used = cpu_ns() - before; /* on a slow machine that can be more */
	s->planted = used < PLANTED ? PLANTED - used : 0;
}

static void spin(struct sample *s)
{
	const uint64_t end = cpu_ns() + PLANTED;

	while (cpu_ns() < end)
		for (volatile int i = 0; i < 20000; i++)
			; /* the clock is a system call */
	s->planted = PLANTED;
}

/* --- servers, each a thread --- */

/* Read at most SIZE bytes; false: there are no more. */
static bool take(int fd, size_t size, int flags)
{
	char bytes[SIZE];
	ssize_t n = recv(fd, bytes, size, flags);

	if (n < 0 && errno != ECONNRESET)
		die("recv: %s", strerror(errno));
	return n > 0;
}

static void give(int fd, struct sample *s)
{
	static const char bytes[SIZE];

	s->replied = now_ns();
	if (send(fd, bytes, SIZE, MSG_NOSIGNAL) != SIZE)
		die("send: %s", strerror(errno));
	s->reply_done = now_ns();
}

static void serve_by(int fd, void (*work)(struct sample *))
{
	for (struct sample *s = samples[0]; take(fd, SIZE, 0); s++) {
		work(s);
		give(fd, s);
	}
}

static void serve_dozing(int fd)
{
	serve_by(fd, doze);
}

static _Atomic bool holds;

/* It reads, and once it is told so does not reply, and has another name then. */
static void serve_holding(int fd)
{
	for (struct sample *s = samples[0]; take(fd, SIZE, 0); s++) {
		if (!holds) {
			give(fd, s);
			continue;
		}
		prctl(PR_SET_NAME, "r-held");
		progress = 1;
	}
}

static void serve_spinning(int fd)
{
	serve_by(fd, spin);
}

/* It sleeps between the reply and the next read. */
static void serve_late(int fd)
{
	struct timespec until;
	uint64_t end;

	for (struct sample *s = samples[0]; take(fd, SIZE, 0); s++) {
		give(fd, s);
		end = s->reply_done + 2 * PLANTED;
		s[1].asleep = now_ns();
		until = (struct timespec){end / 1000000000, end % 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		s[1].awake = end;
	}
}

/* Three pieces are a request; it waits for each. */
static void serve_pieces(int fd)
{
	for (struct sample *s = samples[0]; take(fd, SIZE, 0); s++) {
		for (int i = 0; i < 2; i++) {
			progress++;
			take(fd, SIZE, 0);
		}
		progress++;
		give(fd, s);
	}
}

/* The same of two pieces, as a loop of events that does not wait for one connection. */
static void serve_unwaiting(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (struct sample *s = samples[0];; s++) {
		for (int i = 0; i < 2; i++) {
			poll(&p, 1, -1);
			if (!take(fd, SIZE, MSG_DONTWAIT))
				return;
			progress++;
		}
		give(fd, s);
	}
}

/* Of two requests, the second is there before the first has its reply. */
static void serve_piped(int fd)
{
	for (struct sample *s = samples[0]; take(fd, SIZE, 0); s++) {
		if ((s - samples[0]) % 2 == 0) {
			progress = 1;
			while (progress == 1)
				pause_ns(MS / 10);
		}
		give(fd, s);
	}
}

/* Two requests in one arrival, read one by one: to the kernel they are one. */
static void serve_burst(int fd)
{
	struct sample first;

	for (struct sample *s = samples[0]; take(fd, SIZE / 2, 0); s++) {
		doze(s);
		give(fd, &first);
		take(fd, SIZE / 2, 0);
		doze(s);
		s->planted *= 2;
		give(fd, s);
	}
}

static void serve_file(int fd)
{
	int file = memfd_create("reply", MFD_CLOEXEC);
	off_t at;

	if (file < 0 || ftruncate(file, SIZE))
		die("memfd_create: %s", strerror(errno));
	for (struct sample *s = samples[0]; take(fd, SIZE, 0); s++) {
		doze(s);
		at = 0;
		s->replied = now_ns();
		if (sendfile(fd, file, &at, SIZE) != SIZE)
			die("sendfile: %s", strerror(errno));
		s->reply_done = now_ns();
	}
	close(file);
}

/* By io_uring, where it is. */
static void serve_ring(int fd)
{
	static char bytes[SIZE];
	const struct io_uring_sqe
		in = {.opcode = IORING_OP_RECV, .fd = fd, .addr = (uint64_t)bytes, .len = SIZE},
		out = {.opcode = IORING_OP_SEND, .fd = fd, .addr = (uint64_t)bytes, .len = SIZE};
	struct ring ring;

	if (!ring_open(&ring, 0)) {
		serve_by(fd, doze);
		return;
	}
	for (struct sample *s = samples[0]; ring_call(&ring, &in) > 0; s++) {
		doze(s);
		s->replied = now_ns();
		if (ring_call(&ring, &out) != SIZE)
			die("IORING_OP_SEND: %s", strerror(errno));
		s->reply_done = now_ns();
	}
	close(ring.fd);
}

/* What splice reads from a socket is not seen. */
static void serve_spliced(int fd)
{
	char bytes[SIZE];
	int ends[2];

	make_pipe(ends);
	for (struct sample *s = samples[0]; splice(fd, NULL, ends[1], NULL, SIZE, 0) > 0; s++) {
		if (read(ends[0], bytes, SIZE) != SIZE)
			die("read: %s", strerror(errno));
		give(fd, s);
	}
	close(ends[0]);
	close(ends[1]);
}

static void serve_once(int fd)
{
	static size_t at;
	struct sample *s = &samples[0][at++ % count];

	take(fd, SIZE, 0);
	doze(s);
	give(fd, s);
}

static void serve_never(int fd)
{
	take(fd, SIZE, 0);
}

/* --- of two threads --- */

static int worker_pipe[2], worker_fd;

static void *work(void *arg)
{
	struct sample *s;

	(void)arg;
	rename_self("r-worker");
	while (read(worker_pipe[0], &s, sizeof(s)) == sizeof(s)) {
		doze(s);
		give(worker_fd, s);
	}
	return NULL;
}

static void serve_handing(int fd)
{
	pthread_t worker;

	make_pipe(worker_pipe);
	worker_fd = fd;
	pthread_create(&worker, NULL, work, NULL);
	for (struct sample *s = samples[0]; take(fd, SIZE, 0); s++)
		if (write(worker_pipe[1], &s, sizeof(s)) != sizeof(s))
			die("write: %s", strerror(errno));
	close(worker_pipe[1]);
	pthread_join(worker, NULL);
	close(worker_pipe[0]);
}

static struct room back = {.comm = "r-back", .serve = serve_dozing};

/* The samples are those of the server behind, but for when this one replies. */
static void serve_asking(int fd)
{
	static struct sample own[MOST];
	struct sample *s = own;
	int asks;

	room_open(&back);
	asks = room_connect(&back);
	for (; take(fd, SIZE, 0); s++) {
		give(asks, &(struct sample){});
		take(asks, SIZE, 0);
		give(fd, s);
	}
	close(asks);
	room_close(&back);
	for (size_t i = 0; i < count; i++) {
		samples[0][i].replied = own[i].replied;
		samples[0][i].reply_done = own[i].reply_done;
	}
}

/* Two connections, one thread: what the second waits for is the first. */
static void serve_two(const struct room *r)
{
	struct pollfd p[CLIENTS];
	size_t at[CLIENTS] = {}, open = CLIENTS;
	uint64_t began = 0, ended = 0;

	for (int i = 0; i < CLIENTS; i++)
		p[i] = (struct pollfd){.fd = room_accept(r), .events = POLLIN};
	while (open) {
		poll(p, CLIENTS, -1);
		for (int i = 0; i < CLIENTS; i++) {
			struct sample *s = &samples[i][at[i]];

			if (!p[i].revents)
				continue;
			if (!take(p[i].fd, SIZE, 0)) {
				close(p[i].fd);
				p[i].fd = -1;
				open--;
				continue;
			}
			/* The last one that it served, before this. */
			s->busy_from = began;
			s->busy_until = ended;
			began = now_ns();
			spin(s);
			give(p[i].fd, s);
			ended = s->replied;
			at[i]++;
		}
	}
}
