/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reclaims: threads for which the kernel has to get memory back.
 *
 * Each has the time of its calls by its own clock, and what the kernel accounts to it by itself
 * (delay accounting, linux/taskstats.h): how often and how long it reclaimed.
 */
#include "workload.h"
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <sys/socket.h>

const char usage[] =
	"Usage: reclaims read FILE MB THREADS\n"
	"       reclaims kill MB\n"
	"       reclaims compact TIMES\n"
	"With read, each thread reads MB megabytes of its own part of FILE. With kill, a child\n"
	"touches MB megabytes. With compact, all memory is compacted, TIMES times.\n"
	"\n"
	"Gates: ready, go, done, end.\n";

#define CHUNK 65536

/* ---- delay accounting ---- */

struct message {
	struct nlmsghdr n;
	struct genlmsghdr g;
	char data[2048];
};

static int netlink = -1;
static uint16_t family;

/* Send command CMD to FAMILY with one attribute; the answer is in M. */
static bool ask(struct message *m, uint16_t to, uint8_t cmd, uint16_t type, const void *data,
		uint16_t size)
{
	struct nlattr *a = (struct nlattr *)m->data;
	ssize_t n;

	memset(m, 0, sizeof(*m));
	m->n.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN) + NLA_ALIGN(NLA_HDRLEN + size);
	m->n.nlmsg_type = to;
	m->n.nlmsg_flags = NLM_F_REQUEST;
	m->g.cmd = cmd;
	m->g.version = 1;
	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + size;
	memcpy(a + 1, data, size);
	if (send(netlink, m, m->n.nlmsg_len, 0) < 0)
		return false;
	n = recv(netlink, m, sizeof(*m), 0);
	return n >= (ssize_t)NLMSG_LENGTH(GENL_HDRLEN) && m->n.nlmsg_type != NLMSG_ERROR;
}

/* The attribute of that type among those that are SIZE bytes at AT; NULL: none. */
static const struct nlattr *find(const void *at, size_t size, uint16_t type)
{
	const char *next = at, *end = next + size;

	while (next + NLA_HDRLEN <= end) {
		const struct nlattr *a = (const struct nlattr *)next;

		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
		if (a->nla_len < NLA_HDRLEN)
			return NULL;
		next += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

static void open_taskstats(void)
{
	struct message m;
	const struct nlattr *a;

	netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (!ask(&m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
		 sizeof(TASKSTATS_GENL_NAME)))
		return;
	a = find(m.data, m.n.nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), CTRL_ATTR_FAMILY_ID);
	if (a)
		family = *(const uint16_t *)(a + 1);
}

/* What the kernel accounts to a thread; all 0 if it does not. */
static struct taskstats stats_of(uint32_t tid)
{
	struct taskstats stats = {};
	const struct nlattr *a, *s;
	struct message m;

	if (!family ||
	    !ask(&m, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &tid, sizeof(tid)))
		return stats;
	a = find(m.data, m.n.nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), TASKSTATS_TYPE_AGGR_PID);
	s = a ? find(a + 1, a->nla_len - NLA_HDRLEN, TASKSTATS_TYPE_STATS) : NULL;
	if (s)
		memcpy(&stats, s + 1,
		       s->nla_len - NLA_HDRLEN < (int)sizeof(stats) ? s->nla_len - NLA_HDRLEN
								    : (int)sizeof(stats));
	return stats;
}

/* ---- threads ---- */

struct reader {
	pthread_t thread;
	pid_t tid;
	uint64_t number;
	struct series reads;
	struct taskstats before, after;
};

static const char *file;
static uint64_t bytes; /* of each thread */
static pthread_barrier_t all;
static pthread_mutex_t one_asks = PTHREAD_MUTEX_INITIALIZER;

static void account(struct taskstats *to)
{
	pthread_mutex_lock(&one_asks);
	*to = stats_of(own_tid());
	pthread_mutex_unlock(&one_asks);
}

static void *read_part(void *context)
{
	struct reader *r = context;
	char *buffer = malloc(CHUNK);
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !buffer)
		die("%s: %s", file, strerror(errno));
	/* No more is read than what is asked for. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	memset(buffer, 1, CHUNK);
	r->tid = own_tid();
	series_init(&r->reads, bytes / CHUNK);
	memset(r->reads.ns, 1, bytes / CHUNK * sizeof(*r->reads.ns));
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all); /* the gate is open */
	account(&r->before);
	for (uint64_t at = 0; at < bytes; at += CHUNK) {
		uint64_t start = now_ns();
		ssize_t n = pread(fd, buffer, CHUNK, r->number * bytes + at);

		series_add(&r->reads, now_ns() - start, n != CHUNK);
	}
	account(&r->after);
	pthread_barrier_wait(&all); /* all have read */
	pthread_barrier_wait(&all); /* the tools have ended */
	return NULL;
}

/* How many pages of the file are in memory. */
static uint64_t resident(uint64_t size)
{
	const uint64_t pages = size / getpagesize();
	unsigned char *in = malloc(pages);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	uint64_t n = 0;

	if (!in || at == MAP_FAILED || mincore(at, size, in))
		die("%s: %s", file, strerror(errno));
	for (uint64_t i = 0; i < pages; i++)
		n += in[i] & 1;
	munmap(at, size);
	close(fd);
	free(in);
	return n;
}

static void read_all(int n)
{
	struct reader *readers = calloc(n, sizeof(*readers));
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	uint64_t were, are;

	/* What is in memory already is charged to another cgroup. */
	if (!readers || fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die("%s: %s", file, strerror(errno));
	close(fd);
	open_taskstats();
	pthread_barrier_init(&all, NULL, n + 1);
	for (int i = 0; i < n; i++) {
		readers[i].number = i;
		if (pthread_create(&readers[i].thread, NULL, read_part, &readers[i]))
			die("pthread_create failed");
	}
	pthread_barrier_wait(&all);
	reached("ready");
	gate("go");
	were = resident(n * bytes);
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	are = resident(n * bytes);
	reached("done");
	gate("end");
	pthread_barrier_wait(&all);
	report_begin();
	for (int i = 0; i < n; i++) {
		struct reader *r = &readers[i];

		pthread_join(r->thread, NULL);
		put_row_of("function", r->tid, "reclaims", "read", r->reads.count, r->reads.errors);
		put(",\"accounted\":%s,\"stalls\":%llu,\"stalled\":%llu,\"pages\":%llu,"
		    "\"resident\":%lld,",
		    family && r->after.version ? "true" : "false",
		    r->after.freepages_count - r->before.freepages_count,
		    r->after.freepages_delay_total - r->before.freepages_delay_total,
		    (unsigned long long)(bytes / getpagesize()), (long long)(are - were));
		put_figures(&r->reads);
		put("}");
	}
	report_end();
}

/* ---- */

/* The child waits until its parent has told how it is called and that it is to be killed. */
static void kill_child(void)
{
	uint64_t start, ns;
	pid_t child;
	int status;

	reached("ready");
	gate("go");
	start = now_ns();
	child = fork_or_die();
	if (!child) {
		int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
		char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

		rename_self("r-victim");
		if (fd < 0 || write(fd, "1000", 4) != 4 || at == MAP_FAILED)
			die("cannot be a victim: %s", strerror(errno));
		for (uint64_t i = 0; i < bytes; i += 4096)
			at[i] = 1;
		_exit(0);
	}
	status = reap(child);
	ns = now_ns() - start;
	reached("done");
	gate("end");
	report_begin();
	put_row_of("function", child, "r-victim", "kill", 1, 0);
	put(",\"signal\":%d,\"sum\":%llu}", WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	    (unsigned long long)ns);
	report_end();
}

static void compact(uint64_t times)
{
	int fd = open("/proc/sys/vm/compact_memory", O_WRONLY | O_CLOEXEC);
	struct series writes;

	if (fd < 0) {
		fprintf(stderr, "compact_memory: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	series_init(&writes, times);
	reached("ready");
	gate("go");
	for (uint64_t i = 0; i < times; i++) {
		uint64_t start = now_ns();
		ssize_t n = pwrite(fd, "1", 1, 0);

		series_add(&writes, now_ns() - start, n != 1);
	}
	reached("done");
	gate("end");
	report_begin();
	put_row_of("function", own_tid(), "reclaims", "compact", writes.count, writes.errors);
	put(",");
	put_figures(&writes);
	put("}");
	report_end();
}

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc == 5 && !strcmp(argv[1], "read")) {
		file = argv[2];
		bytes = parse_number(argv[3], "MB", 1, 65536) << 20;
		read_all(parse_number(argv[4], "THREADS", 1, 64));
	} else if (argc == 3 && !strcmp(argv[1], "kill")) {
		bytes = parse_number(argv[2], "MB", 1, 65536) << 20;
		kill_child();
	} else if (argc == 3 && !strcmp(argv[1], "compact")) {
		compact(parse_number(argv[2], "TIMES", 1, 1000));
	} else {
		misuse("read, kill or compact is needed");
	}
	return 0;
}
