/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "peers.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <plumb/core/text.h>
#include <plumb/kernel/map.h>
#include <plumb/kernel/thread.h>
#include <plumb/syscalls/peers.h>

#include <bpf/libbpf.h>

#include "wall-time.h"

#define TCP_LISTEN 10 /* include/net/tcp_states.h */

static int listens_on(const struct plumb_net_socket *s, const void *context)
{
	return s->state == TCP_LISTEN && s->local_port == *(const uint16_t *)context ? 2 : 0;
}

/* Who made the other end: of a pair, often the waiting process PID itself, for another one. */
static void unix_text(const struct wall_peer *peer, uint32_t pid, char *text, size_t size)
{
	char comm[PLUMB_COMM_LEN], escaped[PLUMB_ESCAPED];

	if (!peer->pid || peer->pid == pid)
		return;
	plumb_thread_comm(peer->pid, peer->pid, comm);
	if (!strcmp(comm, "?")) /* it has ended */
		return;
	plumb_escape(escaped, comm, sizeof(comm));
	snprintf(text, size, "%s/%u", escaped, peer->pid);
}

static bool is_loopback(const struct wall_peer *p)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (p->family == AF_INET)
		return p->address[0] == 127;
	return IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)p->address) ||
	       (!memcmp(p->address, mapped, sizeof(mapped)) && p->address[12] == 127);
}

void peer_process(const struct plumb_run *run, uint64_t key, uint32_t pid, uint32_t waker,
		  struct plumb_peer *process)
{
	const struct bpf_map *map =
		bpf_object__find_map_by_name(run->instance.bpf.object, "wall_peers");
	struct plumb_descriptor d = {.kind = PLUMB_DESCRIPTOR_SOCKET, .protocol = IPPROTO_TCP};
	struct wall_peer peer;

	*process = (struct plumb_peer){};
	if (!key || plumb_map_lookup(bpf_map__fd(map), &key, &peer) || peer.family == AF_UNIX ||
	    !is_loopback(&peer))
		return;
	/* Of a connection over the loopback device both addresses are the same, as a rule. */
	memcpy(d.local, peer.address, sizeof(d.local));
	memcpy(d.remote, peer.address, sizeof(d.remote));
	d.family = peer.family;
	d.local_port = peer.local;
	d.remote_port = peer.port;
	d.inode = key; /* by which answers are kept */
	plumb_peer_find(&d, pid, waker, process);
}

bool peer_text(const struct plumb_run *run, uint64_t key, uint32_t pid, char *text, size_t size)
{
	const struct bpf_map *map =
		bpf_object__find_map_by_name(run->instance.bpf.object, "wall_peers");
	char address[INET6_ADDRSTRLEN];
	struct plumb_net_socket listener;
	struct wall_peer peer;
	bool v6;

	*text = 0;
	if (!key || plumb_map_lookup(bpf_map__fd(map), &key, &peer))
		return false;
	if (peer.family == AF_UNIX) {
		unix_text(&peer, pid, text, size);
		return false;
	}
	if (plumb_net_find(pid, "tcp", listens_on, &peer.local, &listener)) {
		snprintf(text, size, "clients of port %u", peer.local);
		return true;
	}
	if (!peer.port)
		return false;
	v6 = peer.family == AF_INET6;
	inet_ntop(v6 ? AF_INET6 : AF_INET, peer.address, address, sizeof(address));
	snprintf(text, size, v6 ? "[%s]:%u" : "%s:%u", address, peer.port);
	return false;
}
