/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * addresses: parse addresses, prefixes and ports.
 *
 * Parsers take the whole string.  They return 0, or -EINVAL without writing a result.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <plumb/net/ends.h>

#include "tcp-sendmsg-lat.h"

/* "10.0.0.0/8", "::1".  An IPv4 prefix is stored as one of IPv6: its /8 is a /104. */
int tcp_parse_prefix(const char *text, struct tcp_prefix *prefix);

/* "443" or "8000-8999". */
int tcp_parse_ports(const char *text, struct tcp_ports *ports);

/* A prefix and perhaps a port: "10.0.0.0/8:443", "[2001:db8::]/32:443", "::1"; PORT 0 is none. */
int tcp_parse_endpoint(const char *text, struct tcp_prefix *prefix, uint16_t *port);

/* Length of the prefix in bits, 0 to 128. */
uint32_t tcp_prefix_bits(const struct tcp_prefix *prefix);
