/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* edges-losses: the modes of edges.c in which segments are sent again. */
#pragma once

#include "edges.h"

static void make_connections(int n)
{
	int listener = listen_at(7101, n), segment = 1400;

	checked(setsockopt(listener, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment)),
		"TCP_MAXSEG");
	for (int i = 0; i < n; i++) {
		ends[i] = connect_or_die();
		ends[n + i] = accepted(listener);
	}
	close(listener);
}

/* One message on each, which is dropped for MS. */
static void lose_messages(uint64_t ms, struct series *took)
{
	uint64_t sent[CONNECTIONS];
	char message[100] = "";

	for (int i = 0; i < CONNECTIONS; i++)
		drop_all(ends[CONNECTIONS + i]);
	for (int i = 0; i < CONNECTIONS; i++) {
		sent[i] = now_ns();
		checked(send(ends[i], message, sizeof(message), 0), "send");
	}
	pause_ms(ms);
	for (int i = 0; i < CONNECTIONS; i++)
		drop_none(ends[CONNECTIONS + i]);
	for (int i = 0; i < CONNECTIONS; i++) {
		checked(recv(ends[CONNECTIONS + i], message, sizeof(message), MSG_WAITALL), "recv");
		series_add(took, now_ns() - sent[i], false);
	}
}

static void lose_handshakes(void)
{
	int listener = listen_at(7102, 4), first, second;

	drop_all(listener);
	first = begin_connect(new_socket(SOCK_NONBLOCK));
	pause_ms(300);
	drop_none(listener);
	close(accepted(listener));
	second = new_socket(SOCK_NONBLOCK);
	drop_all(second);
	begin_connect(second);
	pause_ms(300);
	drop_none(second);
	close(accepted(listener));
	close(first);
	close(second);
}

static void lose(void)
{
	struct series took;

	series_init(&took, 2 * CONNECTIONS);
	make_connections(CONNECTIONS);
	lose_messages(50, &took);
	lose_messages(300, &took);
	lose_handshakes();
	put_plain_row("send", took.count, 0);
	json_length--; /* the brace */
	put(",");
	put_figures(&took);
}

static void *write_bulk(void *end)
{
	static const char data[BULK];

	for (size_t n = 0; n < BULK;)
		n += checked(send(*(int *)end, data + n, BULK - n, 0), "send");
	return NULL;
}

static void *read_bulk(void *end)
{
	char data[65536];

	for (size_t n = 0; n < BULK;)
		n += checked(recv(*(int *)end, data, sizeof(data), 0), "recv");
	return NULL;
}

static void in_threads(void *(*run)(void *), void *(*other)(void *))
{
	pthread_t threads[2 * PAIRS];
	int n = other ? 2 * PAIRS : PAIRS;

	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, i < PAIRS ? run : other, &ends[i]))
			die("cannot create a thread");
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void lose_randomly(void)
{
	struct tcp_info info;
	socklen_t length = sizeof(info);
	unsigned long total = 0;

	make_connections(PAIRS);
	for (int i = 0; i < PAIRS; i++)
		drop_tenth(ends[PAIRS + i]);
	in_threads(write_bulk, read_bulk);
	for (int i = 0; i < PAIRS; i++)
		drop_none(ends[PAIRS + i]);
	pause_ms(100); /* acknowledgements of the last data */
	for (int i = 0; i < 2 * PAIRS; i++) {
		checked(getsockopt(ends[i], IPPROTO_TCP, TCP_INFO, &info, &length), "TCP_INFO");
		total += info.tcpi_total_retrans;
	}
	put_plain_row("send", 0, 0);
	json_length--;
	put(",\"total_retrans\":%lu", total);
}

/* Messages of which the acknowledgements are dropped, and a SYN of which the SYN-ACK is. */
static void lose_answers(void)
{
	int listener = listen_at(7101, 4), waits, end, other, one = 1;
	char message[100] = "";

	end = connect_or_die();
	checked(setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), "TCP_NODELAY");
	other = accepted(listener);
	waits = new_socket(SOCK_NONBLOCK);
	drop_all(waits);
	drop_all(end);
	begin_connect(waits);
	for (int i = 0; i < 3; i++) {
		checked(send(end, message, sizeof(message), 0), "send");
		checked(recv(other, message, sizeof(message), MSG_WAITALL), "recv");
	}
	pause_ms(2300);
	drop_none(waits);
	drop_none(end);
	close(accepted(listener));
	put_plain_row("send", 3, 0);
	json_length--;
}
