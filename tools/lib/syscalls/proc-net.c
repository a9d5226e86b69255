/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <plumb/syscalls/peers.h>

/* "0100007F:1F90" or, of IPv6, 32 digits: words of memory, and the port. */
static bool take_address(const char *text, uint32_t address[4], uint16_t *port)
{
	const char *colon = strchr(text, ':');
	unsigned int a[4], p;

	if (!colon || sscanf(colon, ":%4x", &p) != 1)
		return false;
	*port = p;
	if (colon - text == 8 && sscanf(text, "%8x", &a[3]) == 1) {
		a[0] = a[1] = 0;
		a[2] = htonl(0xffff);
	} else if (colon - text != 32 ||
		   sscanf(text, "%8x%8x%8x%8x", &a[0], &a[1], &a[2], &a[3]) != 4) {
		return false;
	}
	memcpy(address, a, sizeof(a));
	return true;
}

static bool take_line(const char *line, struct plumb_net_socket *s)
{
	char local[48], remote[48];
	unsigned long long inode;
	unsigned int state;

	if (sscanf(line, " %*d: %47s %47s %x %*s %*s %*s %*u %*u %llu", local, remote, &state,
		   &inode) != 4)
		return false;
	s->state = state;
	s->inode = inode;
	return take_address(local, s->local, &s->local_port) &&
	       take_address(remote, s->remote, &s->remote_port);
}

bool plumb_net_find(uint32_t pid, const char *name,
		    int (*is)(const struct plumb_net_socket *s, const void *context),
		    const void *context, struct plumb_net_socket *best)
{
	int fits, most = 0;

	for (int six = 0; six < 2 && most < 2; six++) {
		struct plumb_net_socket s;
		char path[48], line[512];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%u/net/%s%s", pid, name, six ? "6" : "");
		f = fopen(path, "re");
		for (int i = 0;
		     f && most < 2 && i < PLUMB_NET_SOCKETS && fgets(line, sizeof(line), f); i++) {
			s.six = six;
			fits = take_line(line, &s) ? is(&s, context) : 0;
			if (fits > most) {
				most = fits;
				*best = s;
			}
		}
		if (f)
			fclose(f);
	}
	return most;
}
