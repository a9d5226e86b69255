/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "drops.h"
#include "queued.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STATE_LISTEN 10 /* include/net/tcp_states.h */

/* A socket that is closed stays there, as it was at the last report. */
static struct listening *all;
static size_t n_all;
static bool began;

static int diag = -1; /* -1: the kernel does not show them */

/* In the namespace of process PID. */
static int open_diag(uint32_t pid)
{
	int own, its, fd = -1;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);
	own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	its = open(path, O_RDONLY | O_CLOEXEC);
	if (own >= 0 && its >= 0 && !setns(its, CLONE_NEWNET)) {
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
		if (setns(own, CLONE_NEWNET))
			abort();
	}
	close(own);
	close(its);
	return fd;
}

void drops_prepare(const struct plumb_options *o)
{
	diag = o->n_pids ? open_diag(o->pids[0])
			 : socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

/* NULL: no memory. */
static struct listening *find(uint64_t inode)
{
	struct listening *more;

	for (size_t i = 0; i < n_all; i++)
		if (all[i].inode == inode)
			return &all[i];
	more = realloc(all, (n_all + 1) * sizeof(*all));
	if (!more)
		return NULL;
	all = more;
	all[n_all] = (struct listening){.inode = inode};
	return &all[n_all++];
}

static void take(const struct inet_diag_msg *m, size_t size)
{
	const struct rtattr *a = (const void *)(m + 1);
	int left = size - sizeof(*m);
	const size_t known = n_all;
	struct listening *s = find(m->idiag_inode);

	if (!s)
		return;
	if (m->idiag_family == AF_INET6)
		memcpy(&s->address, m->id.idiag_src, sizeof(s->address));
	else
		s->address =
			(struct tcp_address){.words = {0, 0, htonl(0xffff), m->id.idiag_src[0]}};
	s->port = ntohs(m->id.idiag_sport);
	s->waiting = m->idiag_rqueue;
	s->backlog = m->idiag_wqueue;
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == INET_DIAG_SKMEMINFO &&
		    RTA_PAYLOAD(a) >= (SK_MEMINFO_DROPS + 1) * sizeof(uint32_t))
			s->drops = ((const uint32_t *)RTA_DATA(a))[SK_MEMINFO_DROPS];
	if (n_all > known && !began)
		s->before = s->drops;
}

/* Whether it was the end; *FAILED: with an error. */
static bool take_messages(const void *buffer, int size, bool *failed)
{
	for (const struct nlmsghdr *m = buffer; NLMSG_OK(m, (uint32_t)size);
	     m = NLMSG_NEXT(m, size)) {
		*failed = m->nlmsg_type == NLMSG_ERROR;
		if (*failed || m->nlmsg_type == NLMSG_DONE)
			return true;
		take(NLMSG_DATA(m), m->nlmsg_len - NLMSG_HDRLEN);
	}
	return false;
}

static bool read_family(int family)
{
	static char buffer[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct {
		struct nlmsghdr n;
		struct inet_diag_req_v2 r;
	} request = {
		.n = {.nlmsg_len = sizeof(request),
		      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.r = {.sdiag_family = family,
		      .sdiag_protocol = IPPROTO_TCP,
		      .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
		      .idiag_states = 1 << STATE_LISTEN},
	};
	bool failed = false;
	ssize_t n;

	if (send(diag, &request, sizeof(request), 0) < 0)
		return false;
	do
		n = recv(diag, buffer, sizeof(buffer), 0);
	while (n > 0 && !take_messages(buffer, n, &failed));
	return n > 0 && !failed;
}

void drops_settle(const struct plumb_run *run)
{
	if (diag >= 0 && !(read_family(AF_INET) && read_family(AF_INET6))) {
		close(diag);
		diag = -1;
	}
	began = true;
	for (size_t i = 0; i < n_all; i++)
		if (all[i].drops != all[i].before && !all[i].holder.pid)
			queued_find_holder(all[i].inode, run, &all[i].holder);
}

bool drops_are_known(void)
{
	return diag >= 0;
}

const struct listening *drops_next(const struct listening *s, const struct plumb_options *o)
{
	for (s = s ? s + 1 : all; s < all + n_all; s++)
		if (s->drops != s->before && (s->holder.pid || !o->n_pids))
			return s;
	return NULL;
}
