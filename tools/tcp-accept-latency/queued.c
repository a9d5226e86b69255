/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "queued.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/parse.h>
#include <plumb/core/run.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>
#include <plumb/syscalls/peers.h>

#include <bpf/libbpf.h>

/* include/net/tcp_states.h */
#define STATE_ESTABLISHED 1
#define STATE_CLOSE_WAIT  8
#define STATE_LISTEN      10

/* --- the sockets of a network namespace --- */

struct sockets {
	struct plumb_net_socket *all;
	size_t n;
};

/* What listens, and what no process has yet; from before the trace only the latter is looked at. */
static struct sockets present, earlier;
static uint32_t present_netns, earlier_netns; /* 0: none */

static int take(const struct plumb_net_socket *s, const void *context)
{
	struct sockets *to = (struct sockets *)context;
	const bool queued = !s->inode && s->local_port &&
			    (s->state == STATE_ESTABLISHED || s->state == STATE_CLOSE_WAIT);

	if ((queued || s->state == STATE_LISTEN) && to->n < ACCEPT_STATES)
		to->all[to->n++] = *s;
	return 0;
}

static bool is_same(const struct plumb_net_socket *a, const struct plumb_net_socket *b)
{
	return a->local_port == b->local_port && a->remote_port == b->remote_port &&
	       a->inode == b->inode && !memcmp(a->local, b->local, sizeof(a->local)) &&
	       !memcmp(a->remote, b->remote, sizeof(a->remote));
}

static int compare(const void *a, const void *b)
{
	const struct plumb_net_socket *x = a, *y = b;
	const uint64_t of_x = x->inode << 32 | (uint32_t)x->local_port << 16 | x->remote_port,
		       of_y = y->inode << 32 | (uint32_t)y->local_port << 16 | y->remote_port;
	const int ends = memcmp(x->remote, y->remote, sizeof(x->remote))
				 ?: memcmp(x->local, y->local, sizeof(x->local));

	return of_x != of_y ? (of_x > of_y) - (of_x < of_y) : ends;
}

/* Those of the namespace of process PID. */
static void list_sockets(uint32_t pid, struct sockets *to)
{
	struct plumb_net_socket none;
	size_t n = 0;

	if (!to->all)
		to->all = calloc(ACCEPT_STATES, sizeof(*to->all));
	to->n = 0;
	if (!to->all)
		return;
	plumb_net_find(pid, "tcp", take, to, &none);
	/* The kernel repeats some if others come while it is read. */
	qsort(to->all, to->n, sizeof(*to->all), compare);
	for (size_t i = 0; i < to->n; i++)
		if (!n || !is_same(&to->all[i], &to->all[n - 1]))
			to->all[n++] = to->all[i];
	to->n = n;
}

static uint32_t netns_of(uint32_t pid)
{
	struct stat st;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* A process of -p that is still there, from the I-th on; 0: none.  Numbers of others may be a
 * stranger's. */
static uint32_t selected_from(const struct plumb_run *run, uint32_t *i)
{
	for (; *i < run->options.n_pids; ++*i)
		if (run->pids[*i] >= 0)
			return run->options.pids[(*i)++];
	return 0;
}

/* A process in namespace NETNS; 0: none was found. */
static uint32_t process_in(uint32_t netns, const struct plumb_run *run)
{
	uint32_t i = 0, own;

	struct dirent *entry;
	uint64_t pid = 0;
	DIR *proc;

	if (netns_of(getpid()) == netns)
		return getpid();
	while ((own = selected_from(run, &i)))
		if (netns_of(own) == netns)
			return own;
	proc = opendir("/proc");
	while (proc && (entry = readdir(proc))) {
		if (!plumb_parse_u64(entry->d_name, 1, UINT32_MAX, &pid) && netns_of(pid) == netns)
			break;
		pid = 0;
	}
	if (proc)
		closedir(proc);
	return pid;
}

static void look_into(uint32_t netns, const struct plumb_run *run)
{
	const uint32_t pid = present_netns == netns ? 0 : process_in(netns, run);

	if (present_netns == netns)
		return;
	present.n = 0;
	present_netns = netns;
	if (pid)
		list_sockets(pid, &present);
}

/* --- listening sockets --- */

/* How well L, which listens, fits an end at ADDRESS; 0: it does not. */
static int fits(const struct plumb_net_socket *l, const struct tcp_address *address)
{
	static const struct tcp_address mapped = {.bytes = {[10] = 0xff, [11] = 0xff}}, any = {};

	if (!memcmp(l->local, address, sizeof(*address)))
		return 3;
	if (!memcmp(l->local, &mapped, sizeof(mapped)))
		return memcmp(address, &mapped, 12) ? 0 : 2;
	return !memcmp(l->local, &any, sizeof(any)); /* of IPv6: it can take both */
}

/*
 * The socket in whose queue one of S is; NULL: it was not found.  *ALONE: it is the only one, and
 * not one of several that share the port (SO_REUSEPORT).
 */
static const struct plumb_net_socket *listener_of(const struct accept_state *s, bool *alone)
{
	const struct plumb_net_socket *best = NULL;
	int most = 0;

	for (size_t i = 0; i < present.n; i++) {
		const struct plumb_net_socket *l = &present.all[i];
		int n = l->state == STATE_LISTEN && l->local_port == s->lport ? fits(l, &s->laddr)
									      : 0;

		if (n && n == most)
			*alone = false;
		if (n <= most)
			continue;
		most = n;
		best = l;
		*alone = true;
	}
	return best;
}

void queued_find_holder(uint64_t inode, const struct plumb_run *run, struct plumb_peer *peer)
{
	const struct plumb_descriptor d = {
		.kind = PLUMB_DESCRIPTOR_SOCKET, .family = AF_UNIX, .peer_inode = inode};
	uint32_t i = 0, pid;

	if (!run->options.n_pids && plumb_peer_find(&d, 0, 0, peer))
		return;
	while ((pid = selected_from(run, &i)))
		if (plumb_peer_find(&d, 0, pid, peer) && peer->pid == pid)
			return;
	peer->pid = 0;
}

/* --- connections --- */

static struct queued *listed;
static size_t n_listed;

const struct queued *queued_at(uint64_t what)
{
	return &listed[what];
}

static bool is_selected(const struct queued *q, const struct plumb_run *run)
{
	uint32_t i = 0, pid;

	while ((pid = selected_from(run, &i)))
		if (q->pid == pid)
			return true;
	return !run->options.n_pids;
}

static void list(const struct accept_state *s, const struct plumb_run *run,
		 struct plumb_flights *to)
{
	struct queued q = {.state = *s, .pid = s->pid};
	const struct plumb_net_socket *l = NULL;
	struct plumb_peer holder = {};
	bool alone = false;

	if (s->family != AF_UNIX) {
		look_into(s->netns, run);
		l = listener_of(s, &alone);
	}
	if (l) {
		q.is_known = true;
		memcpy(&q.listener, l->local, sizeof(q.listener));
		if (alone)
			queued_find_holder(l->inode, run, &holder);
		q.pid = holder.pid;
	}
	if (!is_selected(&q, run) || (!s->start && !l) || n_listed == 2 * ACCEPT_STATES)
		return;
	listed[n_listed] = q;
	plumb_flights_add(to, &PLUMB_FLIGHT(q.pid, q.pid, .start = s->start, .before = !s->start,
					    .what = n_listed++));
}

static bool is_among(const struct plumb_net_socket *s, const struct sockets *in)
{
	for (size_t i = 0; i < in->n; i++)
		if (!in->all[i].inode && is_same(s, &in->all[i]))
			return true;
	return false;
}

/* Whether one of the N STATES is of this connection. */
static bool was_seen(const struct plumb_net_socket *c, const struct accept_state *states, size_t n)
{
	for (const struct accept_state *s = states; s < states + n; s++)
		if (s->family != AF_UNIX && s->lport == c->local_port &&
		    s->rport == c->remote_port && !memcmp(&s->laddr, c->local, sizeof(s->laddr)) &&
		    !memcmp(&s->raddr, c->remote, sizeof(s->raddr)))
			return true;
	return false;
}

/* What waited before the trace, and still does: none of the N STATES. */
static void list_earlier(const struct accept_state *states, size_t n, const struct plumb_run *run,
			 struct plumb_flights *to)
{
	struct accept_state s = {.netns = earlier_netns};

	look_into(earlier_netns, run);
	for (size_t i = 0; i < earlier.n; i++) {
		const struct plumb_net_socket *old = &earlier.all[i];

		if (old->inode || !is_among(old, &present) || was_seen(old, states, n))
			continue;
		s.lport = old->local_port;
		s.rport = old->remote_port;
		memcpy(&s.laddr, old->local, sizeof(s.laddr));
		memcpy(&s.raddr, old->remote, sizeof(s.raddr));
		list(&s, run, to);
	}
}

static int by_netns(const void *a, const void *b)
{
	const struct accept_state *x = a, *y = b;

	return (x->netns > y->netns) - (x->netns < y->netns);
}

/* Returns how many there are. */
static size_t read_states(int map, const struct accept_state **states)
{
	static struct plumb_elements elements;
	struct accept_state *all;
	size_t n = 0;

	plumb_map_read(map, &elements);
	*states = all = elements.values;
	for (size_t i = 0; i < elements.n; i++)
		if (all[i].start)
			all[n++] = all[i];
	if (n)
		qsort(all, n, sizeof(*all), by_netns);
	return n;
}

void queued_read(const struct plumb_run *run, struct plumb_flights *to)
{
	const int map = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "accept_states");
	const struct plumb_options *o = &run->options;
	const struct accept_state *states;
	size_t n;

	n_listed = 0;
	present_netns = 0;
	if (o->n_tids || o->n_comms_typed || o->n_cgroups || o->command)
		return;
	if (!listed)
		listed = calloc(2 * ACCEPT_STATES, sizeof(*listed));
	if (!listed)
		return;
	n = read_states(map, &states);
	for (size_t i = 0; i < n; i++)
		list(&states[i], run, to);
	list_earlier(states, n, run, to);
}

void queued_prepare(void)
{
	plumb_peers_retain();
}

void queued_settle(const struct plumb_options *o)
{
	const uint32_t pid = o->n_pids ? o->pids[0] : (uint32_t)getpid();

	if (earlier.all)
		return;
	earlier_netns = netns_of(pid);
	list_sockets(pid, &earlier);
}
