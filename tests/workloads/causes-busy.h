/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* causes: threads that compute, or would if they had a CPU. */
#pragma once

#include "causes.h"
#include "addresses.h"
#include "cpus.h"
#include <linux/filter.h>
#include <sys/resource.h>

#define BLOCK      4096
#define KEPT       (256 << 10)
#define TOUCHED    (64 << 20)
#define RANDOM     (16 << 20)
#define HUGE       (2 << 20)
#define HUGE_PAGES "/sys/kernel/mm/transparent_hugepage/enabled"
#define LONG_GAP   200000 /* it may have been another thread */
#define BURST      20     /* datagrams */
#define PAUSE      400000 /* ns, between bursts: at most, so that samples are not in step */
#define GAP        1000   /* ns between two reads of the clock: there was an interrupt */

static atomic_bool over; /* the gate end is open */

/* A function of its own, so that a tool can name it. */
__attribute__((noinline)) static void compute_known(uint64_t until)
{
	while (now_ns() < until && !over)
		for (volatile int i = 0; i < 20000; i++)
			;
}

/* ---- CPUs ---- */

static void compute_beside(void)
{
	if (setpriority(PRIO_PROCESS, 0, 5))
		die("setpriority: %s", strerror(errno));
	gate("go");
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static void begin_hog(void)
{
	pin_to_last_cpu();
	start_other("c-hog", compute_beside);
}

static void be_delayed(struct worker *w)
{
	const uint64_t cpu = other.pid ? other_cpu() : 0;
	const struct clocks began = clocks_now();

	compute_known(w->until);
	add_delay(w, &began);
	if (other.pid)
		other.cpu = other_cpu() - cpu;
}

static char *random_bytes;

static void begin_confined(void)
{
	random_bytes = fresh_memory(RANDOM);
	memset(random_bytes, 1, RANDOM);
}

static void begin_inside(void)
{
	begin_confined();
	begin_hog();
}

/* As be_delayed(), inside of calls. */
static void be_inside(struct worker *w)
{
	const uint64_t cpu = other.pid ? other_cpu() : 0;
	const struct clocks began = clocks_now();

	for (w->count = -1; now_ns() < w->until; w->count++)
		if (syscall(SYS_getrandom, random_bytes, RANDOM, 0) != RANDOM)
			die("getrandom: %s", strerror(errno));
	add_delay(w, &began);
	if (other.pid)
		other.cpu = other_cpu() - cpu;
}

static void compute(struct worker *w)
{
	const struct clocks began = clocks_now();

	compute_known(w->until);
	add_busy(w, &began);
}

/* Takes long for each datagram, which it then drops. */
static void filter_slowly(int fd)
{
	static struct sock_filter code[BPF_MAXINSNS];
	const struct sock_fprog filter = {BPF_MAXINSNS, code};

	for (size_t i = 0; i < BPF_MAXINSNS; i++)
		code[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3);
	code[BPF_MAXINSNS - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	checked(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)),
		"SO_ATTACH_FILTER");
}

/*
 * Bursts of a few: each is served by one softirq, which does not last so long that the kernel
 * leaves it to a thread; a hypervisor's work for the interrupt that begins it is small beside that.
 */
static void send_datagrams(void)
{
	struct sockaddr_in name = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(name);
	int fd = checked(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
	int to = checked(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
	int last, before;

	if (last_two_cpus(&last, &before))
		pin(0, before);
	checked(bind(to, (void *)&name, size), "bind");
	checked(getsockname(to, (void *)&name, &size), "getsockname");
	checked(connect(fd, (void *)&name, size), "connect");
	filter_slowly(to);
	gate("go");
	for (;;) {
		for (int i = 0; i < BURST; i++)
			send(fd, "flood", 5, MSG_NOSIGNAL);
		pause_ns(random() % PAUSE);
	}
}

/*
 * Where two reads of the clock are far apart, an interrupt was; or another thread, and perhaps an
 * interrupt besides, which is in the upper bound only.
 */
static void watch_clock(struct worker *w)
{
	const uint64_t first = delay_so_far();
	uint64_t now, gap, delay, delayed = first, before = now_ns();

	while (before < w->until) {
		now = now_ns();
		gap = now - before;
		before = now;
		if (gap < GAP)
			continue;
		w->high += gap;
		w->count++;
		if (gap < LONG_GAP) {
			w->low += gap;
			continue;
		}
		delay = delay_so_far();
		w->low += delay == delayed ? gap : 0;
		delayed = delay;
		/* What interrupts this call is in the upper bound, too. */
		w->high += now_ns() - now;
		before = now_ns();
	}
	w->high -= delay_so_far() - first;
}

/* Interrupts without the datagrams, with what a hypervisor adds, where no sample can be. */
static struct worker usual;

static void be_interrupted(struct worker *w)
{
	const struct clocks began = clocks_now();

	watch_clock(w);
	w->low -= usual.low * clocks_since(&began).cpu / usual.whole.cpu;
}

static void begin_softirq(void)
{
	struct clocks began;

	start_other("c-flood", send_datagrams);
	pin_to_last_cpu();
	usual.until = now_ns() + 500 * MS;
	began = clocks_now();
	watch_clock(&usual);
	usual.whole = clocks_since(&began);
}

/* ---- memory ---- */

static void take_memory(struct worker *w)
{
	struct clocks began;
	char *at;

	while (now_ns() < w->until) {
		at = fresh_memory(KEPT);
		began = clocks_now();
		for (size_t i = 0; i < KEPT; i += BLOCK)
			at[i] = 1;
		add_sleep(w, &began);
	}
}

/*
 * Of huge pages, if there are some: a hypervisor's work for each is small beside the kernel's, and
 * so is the part of that in which interrupts, and samples, are held back.
 */
static void touch_memory(struct worker *w)
{
	const size_t apart = access(HUGE_PAGES, F_OK) ? BLOCK : HUGE;
	struct clocks began;
	char *at;

	while (now_ns() < w->until) {
		at = fresh_memory(TOUCHED);
		madvise(at, TOUCHED, MADV_HUGEPAGE);
		began = clocks_now();
		for (size_t i = 0; i < TOUCHED; i += apart)
			at[i] = 1;
		add_busy(w, &began);
		munmap(at, TOUCHED);
	}
}

/* ---- threads that are born and die ---- */

static void *live(void *arg)
{
	const struct clocks began = clocks_now();
	struct worker *all = arg, mine = {};
	struct clocks c;

	pause_ns(5 * MS);
	add_sleep(&mine, &began);
	compute_known(now_ns() + 3 * MS);
	c = clocks_since(&began);
	/* Before its first instruction here it had no time but these. */
	all->whole.wall += c.wall + began.cpu + began.delay;
	all->whole.cpu += c.cpu + began.cpu;
	all->whole.delay += c.delay + began.delay;
	all->low += mine.low;
	all->high += mine.high;
	all->count++;
	close(schedstat);
	return NULL;
}

static void bear(struct worker *w)
{
	pthread_t thread;

	while (now_ns() < w->until)
		if (pthread_create(&thread, NULL, live, w) || pthread_join(thread, NULL))
			die("cannot create a thread");
}
