/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ends: the keys that name the ends of a connection (bpf/net/ends.h), for --by and for all output.
 * Included by one file of a tool, whose fields have TCP_ENDS_FIELDS and whose keys.parse() begins
 * with tcp_take_port().
 */
#pragma once

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <plumb/bpf/net/ends.h>
#include <plumb/core/fields.h>
#include <plumb/core/options.h>

/* Room for the longest address and its NUL. */
#define TCP_ADDRESS_TEXT INET6_ADDRSTRLEN

/* "10.1.2.3" or "2001:db8::1"; returns TEXT. */
static inline const char *tcp_format_address(const struct tcp_address *a, char *text, size_t size)
{
	static const struct tcp_address mapped = {.bytes = {[10] = 0xff, [11] = 0xff}};

	if (!memcmp(a, &mapped, 12))
		inet_ntop(AF_INET, &a->words[3], text, size);
	else
		inet_ntop(AF_INET6, a, text, size);
	return text;
}

static inline const struct tcp_ends *tcp_ends_of(const void *key)
{
	return (const struct tcp_ends *)((const struct plumb_who *)key + 1);
}

/* The end of a connection; "-": it has no address, as one of unix sockets. */
static inline void tcp_format_end(const struct tcp_address *a, char *text, size_t size)
{
	if (a->halves[0] || a->halves[1])
		tcp_format_address(a, text, size);
	else
		snprintf(text, size, "-");
}

static inline void tcp_format_raddr(const void *key, char *text, size_t size)
{
	tcp_format_end(&tcp_ends_of(key)->raddr, text, size);
}

static inline void tcp_format_laddr(const void *key, char *text, size_t size)
{
	tcp_format_end(&tcp_ends_of(key)->laddr, text, size);
}

static inline json_t *tcp_end_json(const struct tcp_address *a)
{
	char text[TCP_ADDRESS_TEXT];

	tcp_format_end(a, text, sizeof(text));
	return strcmp(text, "-") ? json_string(text) : json_null();
}

static inline json_t *tcp_raddr_json(const void *key)
{
	return tcp_end_json(&tcp_ends_of(key)->raddr);
}

static inline json_t *tcp_laddr_json(const void *key)
{
	return tcp_end_json(&tcp_ends_of(key)->laddr);
}

/* A connection has two ports: one that is 0 is not that of the server. */
static inline void tcp_format_port(uint16_t port, char *text, size_t size)
{
	if (port)
		snprintf(text, size, "%u", port);
	else
		snprintf(text, size, "-");
}

static inline void tcp_format_rport(const void *key, char *text, size_t size)
{
	tcp_format_port(tcp_ends_of(key)->rport, text, size);
}

static inline void tcp_format_lport(const void *key, char *text, size_t size)
{
	tcp_format_port(tcp_ends_of(key)->lport, text, size);
}

/* clang-format off */
#define TCP_ENDS_FIELDS                                                                            \
	{"raddr", TCP_BY_RADDR, .format = tcp_format_raddr, .json = tcp_raddr_json},               \
	{"rport", TCP_BY_RPORT, .number = true, .format = tcp_format_rport},                       \
	{"laddr", TCP_BY_LADDR, .format = tcp_format_laddr, .json = tcp_laddr_json},               \
	{"lport", TCP_BY_LPORT, .number = true, .format = tcp_format_lport},                       \
	{"netns", TCP_BY_NETNS, .number = true, .member = PLUMB_NUMBER, .size = 4,                 \
	 .at = sizeof(struct plumb_who) + offsetof(struct tcp_ends, netns)},                       \
	{.name = "port"} /* no column of its own: see tcp_take_port() */
/* clang-format on */

/* "port" is the server's port; together with "rport" or "lport" it is both ports. */
static inline bool tcp_take_port(const char *item, struct plumb_options *o)
{
	bool port = !strcmp(item, "port");

	if (!port && strcmp(item, "rport") && strcmp(item, "lport"))
		return false;
	if (!port)
		o->by &= ~TCP_BY_PORT;
	else if (o->by & (TCP_BY_RPORT | TCP_BY_LPORT))
		o->by |= TCP_BY_RPORT | TCP_BY_LPORT;
	else
		o->by |= TCP_BY_SERVER_PORT;
	return port;
}
