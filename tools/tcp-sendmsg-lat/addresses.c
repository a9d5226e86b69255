/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <plumb/core/parse.h>

#include "addresses.h"

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* Returns how many of A's 128 bits precede those in TEXT (0, or 96 for IPv4); or -EINVAL. */
static int parse_address(const char *text, struct tcp_address *a)
{
	if (inet_pton(AF_INET6, text, a) == 1)
		return 0;
	memcpy(a, mapped, sizeof(mapped));
	return inet_pton(AF_INET, text, a->bytes + sizeof(mapped)) == 1 ? 96 : -EINVAL;
}

static void set_mask(struct tcp_prefix *prefix, uint32_t bits)
{
	for (uint32_t i = 0; i < 128; i++)
		if (i < bits)
			prefix->mask.bytes[i / 8] |= 0x80 >> i % 8;
	for (uint32_t i = 0; i < 16; i++)
		prefix->address.bytes[i] &= prefix->mask.bytes[i];
}

int tcp_parse_prefix(const char *text, struct tcp_prefix *prefix)
{
	const char *slash = strchrnul(text, '/');
	struct tcp_prefix p = {};
	char address[TCP_ADDRESS_TEXT];
	uint64_t bits;
	int before;

	if ((size_t)(slash - text) >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, slash - text);
	address[slash - text] = 0;
	before = parse_address(address, &p.address);
	bits = 128 - before;
	if (before < 0 || (*slash && plumb_parse_u64(slash + 1, 0, bits, &bits)))
		return -EINVAL;
	set_mask(&p, before + bits);
	*prefix = p;
	return 0;
}

int tcp_parse_ports(const char *text, struct tcp_ports *ports)
{
	const char *dash = strchrnul(text, '-');
	uint64_t from, to;
	char first[8];

	if ((size_t)(dash - text) >= sizeof(first))
		return -EINVAL;
	memcpy(first, text, dash - text);
	first[dash - text] = 0;
	if (plumb_parse_u64(first, 1, UINT16_MAX, &from))
		return -EINVAL;
	to = from;
	if (*dash && plumb_parse_u64(dash + 1, from, UINT16_MAX, &to))
		return -EINVAL;
	*ports = (struct tcp_ports){from, to};
	return 0;
}

/* Splits off the port, and the brackets that separate an IPv6 address from it. */
int tcp_parse_endpoint(const char *text, struct tcp_prefix *prefix, uint16_t *port)
{
	char copy[TCP_ADDRESS_TEXT + sizeof("[]/128:65535")], *at = copy, *close, *colon;
	uint64_t number = 0;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	if (*at == '[') {
		at++;
		close = strchr(at, ']');
		if (!close || !memchr(at, ':', close - at) || !strchr("/:", close[1]))
			return -EINVAL;
		/* "[2001:db8::]/32:443": what follows the bracket moves onto it. */
		memmove(close, close + 1, strlen(close));
		colon = strchr(close, ':');
	} else {
		/* With more than one colon it is an IPv6 address without a port. */
		colon = strchr(at, ':');
		if (colon && strchr(colon + 1, ':'))
			colon = NULL;
	}
	if (colon) {
		*colon = 0;
		if (plumb_parse_u64(colon + 1, 1, UINT16_MAX, &number))
			return -EINVAL;
	}
	if (tcp_parse_prefix(at, prefix))
		return -EINVAL;
	*port = number;
	return 0;
}

uint32_t tcp_prefix_bits(const struct tcp_prefix *prefix)
{
	return __builtin_popcountll(prefix->mask.halves[0]) +
	       __builtin_popcountll(prefix->mask.halves[1]);
}
