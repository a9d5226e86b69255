/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/parse.h>
#include <plumb/core/privileges.h>
#include <plumb/kernel/thread.h>
#include <plumb/syscalls/peers.h>

void plumb_peers_retain(void)
{
	plumb_retain(PLUMB_CAP(SYS_PTRACE) | PLUMB_CAP(DAC_READ_SEARCH), 0,
		     "processes at the other ends of descriptors");
}

/* ---- the index: who has which pipes and sockets open ---- */

#define HOLDERS      65536
#define FRESH_NS     PLUMB_SECOND
#define JUST_NS      50000000     /* what is printed has happened before */
#define WALK_NS      200000000    /* at most; of a walk that takes longer, processes are missing */
#define SHARE        10           /* walks take a tenth of a CPU's time, */
#define AHEAD_NS     PLUMB_SECOND /* and this at once */
#define MOST_ANSWERS 64

struct holder {
	uint64_t inode;
	uint32_t pid;
	int fd;
};

static struct {
	struct holder *all;
	size_t n;
	uint64_t made, first; /* ns, CLOCK_MONOTONIC: the ends of the last walk and the first */
	uint64_t spent;       /* ns of the CPU, in walks */
} held;

/* "pipe:[123]", "socket:[123]"; both are of one file system each, with numbers of one counter. */
static uint64_t inode_of(const char *link)
{
	uint64_t inode = 0;
	char digits[24];

	if (strncmp(link, "pipe:[", 6) && strncmp(link, "socket:[", 8))
		return 0;
	snprintf(digits, sizeof(digits), "%s", strchr(link, '[') + 1);
	digits[strcspn(digits, "]")] = 0;
	plumb_parse_u64(digits, 1, UINT64_MAX, &inode);
	return inode;
}

static void look_at_process(uint32_t pid)
{
	struct dirent *entry;
	char text[64];
	uint64_t fd;
	ssize_t n;
	DIR *dir;

	snprintf(text, sizeof(text), "/proc/%u/fd", pid);
	dir = opendir(text);
	while (dir && held.n < HOLDERS && (entry = readdir(dir))) {
		if (plumb_parse_u64(entry->d_name, 0, INT32_MAX, &fd))
			continue;
		n = readlinkat(dirfd(dir), entry->d_name, text, sizeof(text) - 1);
		text[n < 0 ? 0 : n] = 0;
		held.all[held.n] = (struct holder){inode_of(text), pid, fd};
		held.n += held.all[held.n].inode != 0;
	}
	if (dir)
		closedir(dir);
}

static int by_inode(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* FIRST: a process that is looked at even if there are too many; 0: none. */
static void make_index(uint32_t first)
{
	const uint64_t began = plumb_cpu_time();
	struct dirent *entry;
	uint64_t pid;
	DIR *proc;

	if (!held.all)
		held.all = malloc(HOLDERS * sizeof(*held.all));
	if (!held.all)
		return;
	held.n = 0;
	if (first)
		look_at_process(first);
	proc = opendir("/proc");
	while (proc && plumb_cpu_time() < began + WALK_NS && (entry = readdir(proc)))
		if (!plumb_parse_u64(entry->d_name, 1, UINT32_MAX, &pid) && pid != first &&
		    (pid_t)pid != getpid())
			look_at_process(pid);
	if (proc)
		closedir(proc);
	qsort(held.all, held.n, sizeof(*held.all), by_inode);
	held.made = plumb_now();
	held.spent += plumb_cpu_time() - began;
	held.first = held.first ?: held.made;
}

bool plumb_peers_may_look(uint64_t spent, uint64_t first)
{
	return !first || spent < AHEAD_NS + (plumb_now() - first) / SHARE;
}

/* The first one of INODE; NULL: there is none. */
static const struct holder *first_of(uint64_t inode)
{
	size_t low = 0, high = held.n, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (held.all[middle].inode < inode)
			low = middle + 1;
		else
			high = middle;
	}
	return low < held.n && held.all[low].inode == inode ? &held.all[low] : NULL;
}

/* Whether a descriptor of a pipe is open for MODE, S_IRUSR or S_IWUSR, or could be. */
static bool is_for(const struct holder *h, mode_t mode)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", h->pid, h->fd);
	return !mode || (!lstat(path, &st) && st.st_mode & mode);
}

/* Of the processes that have INODE open for MODE (0: in whatever way): one, and how many others. */
static void choose(uint64_t inode, mode_t mode, uint32_t pid, uint32_t preferred,
		   struct plumb_peer *peer)
{
	const struct holder *h = first_of(inode);
	uint32_t last = 0, own = 0, n = 0;

	*peer = (struct plumb_peer){};
	for (; h && h < held.all + held.n && h->inode == inode; h++) {
		if (h->pid == last || !is_for(h, mode))
			continue;
		last = h->pid;
		if (h->pid == pid) {
			own = pid;
			continue;
		}
		if (!peer->pid || h->pid == preferred)
			peer->pid = h->pid;
		n++;
	}
	if (!peer->pid || (own && preferred == own))
		peer->pid = own;
	peer->others = n + !!own - !!peer->pid;
}

/* The same, as of a second ago at most; as of now if that answer is none, or an unlikely one. */
static bool find_holder(uint64_t inode, mode_t mode, uint32_t pid, uint32_t preferred,
			struct plumb_peer *peer)
{
	const uint64_t age = plumb_now() - held.made;
	bool is_likely;

	if (!inode)
		return false;
	choose(inode, mode, pid, preferred, peer);
	is_likely = peer->pid && (preferred ? peer->pid == preferred : peer->pid != pid);
	if (age > (is_likely ? FRESH_NS : JUST_NS) &&
	    plumb_peers_may_look(held.spent, held.first)) {
		make_index(preferred);
		choose(inode, mode, pid, preferred, peer);
	}
	return peer->pid;
}

/* ---- connections ---- */

static void as_six(const struct plumb_descriptor *d, const uint32_t *from, uint32_t to[4])
{
	if (d->family == AF_INET6)
		memcpy(to, from, 16);
	else
		memcpy(to, (uint32_t[4]){0, 0, htonl(0xffff), from[0]}, 16);
}

static bool is_mapped(const uint32_t a[4])
{
	return !a[0] && !a[1] && (a[2] == htonl(0xffff) || !a[2]);
}

/* Whether the address is one of this machine's, as far as is clear without a list of them. */
static bool is_local(const uint32_t remote[4], const uint32_t local[4])
{
	const bool loopback = is_mapped(remote) &&
			      (remote[2] ? ntohl(remote[3]) >> 24 == 127 : remote[3] == htonl(1));

	return loopback || !memcmp(remote, local, 16);
}

static bool is_any(const uint32_t a[4])
{
	return is_mapped(a) && !a[3];
}

/* The other end of CONTEXT: the one that is connected to it, or else the one that listens. */
static int is_other_end(const struct plumb_net_socket *s, const void *context)
{
	const struct plumb_net_socket *of = context;

	if (s->local_port != of->remote_port || !s->inode)
		return 0;
	if (s->remote_port)
		return s->remote_port == of->local_port && !memcmp(s->remote, of->local, 16) &&
				       !memcmp(s->local, of->remote, 16)
			       ? 2
			       : 0;
	return is_any(s->local) || !memcmp(s->local, of->remote, 16);
}

/* The inode of the socket that D is connected to; 0: not known. */
static uint64_t other_end(const struct plumb_descriptor *d, uint32_t pid)
{
	struct plumb_net_socket of = {.local_port = d->local_port, .remote_port = d->remote_port},
				other;

	as_six(d, d->local, of.local);
	as_six(d, d->remote, of.remote);
	if (!d->remote_port || !is_local(of.remote, of.local))
		return 0;
	return plumb_net_find(pid, d->protocol == IPPROTO_UDP ? "udp" : "tcp", is_other_end, &of,
			      &other)
		       ? other.inode
		       : 0;
}

/*
 * Each line of a connection would read the list of all: what was found is kept for a second.
 */
static uint64_t other_end_now(const struct plumb_descriptor *d, uint32_t pid)
{
	static struct {
		uint64_t inode, found, at, took;
		uint32_t pid;
	} answers[MOST_ANSWERS], *a;
	const uint64_t now = plumb_now();

	a = &answers[d->inode % MOST_ANSWERS];
	if (a->inode == d->inode && a->pid == pid && now - a->at < FRESH_NS + SHARE * a->took)
		return a->found;
	a->inode = d->inode;
	a->pid = pid;
	a->found = other_end(d, pid);
	a->at = plumb_now();
	a->took = a->at - now;
	return a->found;
}

/* ---- */

static bool find(const struct plumb_descriptor *d, uint32_t pid, uint32_t preferred,
		 struct plumb_peer *peer)
{
	const uint32_t ends = d->flags & (PLUMB_DESCRIPTOR_READ | PLUMB_DESCRIPTOR_WRITE);
	const bool is_inet = d->family == AF_INET || d->family == AF_INET6;

	if (d->kind == PLUMB_DESCRIPTOR_PIPE)
		return find_holder(d->inode,
				   ends == PLUMB_DESCRIPTOR_READ    ? S_IWUSR
				   : ends == PLUMB_DESCRIPTOR_WRITE ? S_IRUSR
								    : 0,
				   pid, preferred, peer);
	if (d->kind != PLUMB_DESCRIPTOR_SOCKET)
		return false;
	if (d->family == AF_UNIX)
		return find_holder(d->peer_inode, 0, pid, preferred, peer);
	if (is_inet && (d->protocol == IPPROTO_TCP || d->protocol == IPPROTO_UDP))
		return find_holder(other_end_now(d, pid), 0, pid, preferred, peer);
	return false;
}

bool plumb_peer_find(const struct plumb_descriptor *d, uint32_t pid, uint32_t preferred,
		     struct plumb_peer *peer)
{
	*peer = (struct plumb_peer){};
	if (plumb_pids_are_foreign())
		return false;
	if (find(d, pid, preferred, peer)) {
		peer->source = PLUMB_PEER_HAS_OPEN;
	} else if (d->kind == PLUMB_DESCRIPTOR_SOCKET && d->family == AF_UNIX && d->peer_pid) {
		peer->source = PLUMB_PEER_CREDENTIALS;
		peer->pid = d->peer_pid;
	}
	if (peer->source)
		plumb_thread_comm(peer->pid, peer->pid, peer->comm);
	return peer->source;
}
