/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* edges-listeners: sockets that listen and accept nothing, of edges.c. */
#pragma once

#include "edges.h"
#include "numbers.h"

static void hang_before(void)
{
	listen_at(7400, 2);
	begin_connect(new_socket(SOCK_NONBLOCK));
}

static void hang(void)
{
	for (int i = 0; i < (at.ss_family == AF_UNIX ? 2 : 7); i++)
		begin_connect(new_socket(SOCK_NONBLOCK));
	pause_ms(100);
	reached("done");
	gate("end");
	put_plain_row("connect", 0, 0);
	json_length--;
}

#define QUEUED 2000

static atomic_bool enough;
static pthread_t queues;
static uint64_t n_queued;

static void *queue_on(void *end)
{
	(void)end;
	while (n_queued < QUEUED && !enough) {
		begin_connect(new_socket(0));
		n_queued++;
		pause_ms(2);
	}
	return NULL;
}

static void queue_before(void)
{
	listen_at(7500, QUEUED);
	pthread_create(&queues, NULL, queue_on, NULL);
	pause_ms(20);
}

static void queue(void)
{
	enough = true;
	pthread_join(queues, NULL);
	reached("done");
	gate("end");
	put_plain_row("connect", n_queued, 0);
	json_length--;
}

static void listen_beside(void)
{
	const int one = 1, fd = new_socket(0);

	checked(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), "SO_REUSEPORT");
	checked(bind(fd, (void *)&at, at_length), "bind");
	checked(listen(fd, 2), "listen");
}

/* Another process, which listens and accepts none. */
static pid_t other;

/* It has NUMBER, 0: any, which is on stdout then. */
static void fork_listener(pid_t number)
{
	bool *listens = shared_memory(sizeof(*listens));

	((struct sockaddr_in *)&at)->sin_port = htons(7600);
	other = number ? fork_numbered(number) : fork_or_die();
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		rename_self("edges\nother");
		listen_beside();
		__atomic_store_n(listens, true, __ATOMIC_SEQ_CST);
		for (;;)
			pause();
	}
	while (!__atomic_load_n(listens, __ATOMIC_SEQ_CST))
		pause_ms(1);
	dprintf(STDOUT_FILENO, "%d\n", other);
}

static void share_before(void)
{
	fork_listener(0);
	listen_beside();
}

static void again_before(void)
{
	fork_listener(0);
}

static void again(void)
{
	checked(kill(other, SIGKILL), "kill");
	reap(other);
	fork_listener(other);
	for (int i = 0; i < 8; i++)
		begin_connect(new_socket(SOCK_NONBLOCK));
	pause_ms(1200);
	reached("done");
	gate("end");
	put_plain_row("connect", 0, 0);
	json_length--;
}

static void share(void)
{
	for (int i = 0; i < 40; i++)
		begin_connect(new_socket(SOCK_NONBLOCK));
	pause_ms(100);
	reached("done");
	gate("end");
	put_plain_row("connect", 0, 0);
	json_length--;
	put(",\"other\":%d", other);
}
