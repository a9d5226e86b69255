// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* requests: servers that serve in known ways, and the clients that ask them. */
#include "requests-waits.h"

const char usage[] =
	"Usage: requests COUNT [before]\n"
	"\n"
	"Servers of several kinds, one after the other, each a thread of a name of its own, are\n"
	"asked COUNT times. \"least\" and \"most\" are bounds of the time of a request, by the\n"
	"clocks of the client, before and after it sends, and of the server, before and after it\n"
	"replies; \"planted\" is the time that has to be in the part \"part\".\n"
	"before: only two of them, by connections from before the gate go, which are still open "
	"at\n"
	"the gate done; the one of a unix socket has read one more request then.\n"
	"The loopback device is to be up. Gates: ready, go, done, end.\n";

uint64_t count;

/* --- clients --- */

static void ask(int fd, struct sample *s, size_t size)
{
	static const char bytes[SIZE];

	s->asked = now_ns();
	if (send(fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("send: %s", strerror(errno));
	s->ask_done = now_ns();
}

static void hear(int fd)
{
	if (!take(fd, SIZE, MSG_WAITALL))
		die("no reply");
}

static void ask_plainly(int fd)
{
	for (size_t i = 0; i < count; i++) {
		ask(fd, &samples[0][i], SIZE);
		hear(fd);
	}
}

static void await_progress(uint64_t wanted)
{
	while (progress < wanted)
		pause_ns(MS / 10);
	pause_ns(MS / 2); /* it waits for more */
}

static void ask_in_pieces(int fd, int pieces)
{
	struct sample rest;

	for (size_t i = 0; i < count; i++) {
		progress = 0;
		ask(fd, &samples[0][i], SIZE);
		for (int n = 1; n < pieces; n++) {
			await_progress(n);
			ask(fd, &rest, SIZE);
		}
		hear(fd);
	}
}

static void ask_in_three(int fd)
{
	ask_in_pieces(fd, 3);
}

static void ask_in_two(int fd)
{
	ask_in_pieces(fd, 2);
}

static void ask_piped(int fd)
{
	for (size_t i = 0; i < count; i += 2) {
		progress = 0;
		ask(fd, &samples[0][i], SIZE);
		await_progress(1);
		ask(fd, &samples[0][i + 1], SIZE);
		progress = 2;
		hear(fd);
		hear(fd);
	}
}

static void ask_twice(int fd)
{
	for (size_t i = 0; i < count; i++) {
		ask(fd, &samples[0][i], SIZE);
		hear(fd);
		hear(fd);
	}
}

static void ask_second(int fd)
{
	for (size_t i = 0; i < count; i++) {
		ask(fd, &samples[1][i], SIZE);
		hear(fd);
	}
}

static void hear_nothing(int fd)
{
	ask(fd, &samples[0][0], SIZE);
	if (take(fd, SIZE, 0))
		die("a reply");
}

static void ask_once(int fd)
{
	static size_t at;

	ask(fd, &samples[0][at++ % count], SIZE);
	hear(fd);
}

static void *second_client(void *arg)
{
	int fd = room_connect(arg);

	ask_second(fd);
	close(fd);
	return NULL;
}

/* --- all of them --- */

static struct room rooms[] = {
	{"r-sleep", serve_dozing, .ask = ask_plainly, .part = "blocked"},
	{"r-spin", serve_spinning, .ask = ask_plainly, .part = "on_cpu"},
	{"r-calls", serve_in_calls, .ask = ask_plainly, .part = "kernel"},
	{"r-lock", serve_locked, .ask = ask_plainly, .part = "lock"},
	{"r-disk", serve_synced, .ask = ask_plainly, .part = "disk"},
	{"r-late", serve_late, .ask = ask_plainly, .part = "queued_asleep"},
	{"r-busy", .serve_all = serve_two, .ask = ask_plainly, .part = "queued_busy"},
	{"r-handed", serve_handing, .ask = ask_plainly, .part = "handed"},
	{"r-down", serve_asking, .ask = ask_plainly, .part = "downstream"},
	{"r-unix", serve_dozing, .ask = ask_plainly, .part = "blocked", .family = AF_UNIX},
	{"r-packet", serve_dozing, .ask = ask_plainly, .part = "blocked", .family = AF_UNIX,
	 .kind = SOCK_SEQPACKET},
	{"r-pieces", serve_pieces, .ask = ask_in_three},
	{"r-piped", serve_piped, .ask = ask_piped},
	{"r-burst", serve_burst, .ask = ask_twice, .part = "blocked"},
	{"r-file", serve_file, .ask = ask_plainly, .part = "blocked"},
	{"r-ring", serve_ring, .ask = ask_plainly, .part = "blocked"},
	{"r-once", serve_once, .ask = ask_once, .part = "blocked", .once = true},
	{"r-mixed", serve_unwaiting, .ask = ask_in_two, .lost = true},
	{"r-spliced", serve_spliced, .ask = ask_plainly, .lost = true},
	{"r-never", serve_never, .ask = hear_nothing, .once = true, .unanswered = true},
};
#define ROOMS (sizeof(rooms) / sizeof(rooms[0]))

static uint64_t overlap(const struct sample *s, uint64_t from, uint64_t until)
{
	if (from < s->ask_done)
		from = s->ask_done;
	return until > from ? until - from : 0;
}

/* Of the time in the queue, as far as it is known what the server did. */
static void plant_queue(const struct room *r, struct sample *s)
{
	if (r->serve == serve_late)
		s->planted = overlap(s, s->asleep, s->awake);
	if (r->serve_all)
		s->planted = overlap(s, s->busy_from, s->busy_until);
}

/* From when the client had sent it, if that was before the reply: it can have lost its CPU. */
static uint64_t shortest(const struct sample *s)
{
	return s->replied > s->ask_done ? s->replied - s->ask_done : 0;
}

static void put_bounds(const char *name, bool most, size_t clients)
{
	struct series all;

	series_init(&all, clients * count);
	for (size_t c = 0; c < clients; c++)
		for (size_t i = 0; i < count; i++) {
			const struct sample *s = &samples[c][i];

			series_add(&all, most ? s->reply_done - s->asked : shortest(s), false);
		}
	put(",\"%s\":{", name);
	put_figures(&all);
	put("}");
	free(all.ns);
}

static void put_room(const struct room *r)
{
	const size_t clients = r->serve_all ? CLIENTS : 1;
	uint64_t planted = 0;

	for (size_t c = 0; c < clients; c++)
		for (size_t i = 0; i < count; i++) {
			plant_queue(r, &samples[c][i]);
			planted += samples[c][i].planted;
		}
	put_row_of("part", 0, r->comm, r->part ?: "", clients * count, 0);
	put(",\"lost\":%s,\"unanswered\":%s,\"planted\":%llu", r->lost ? "true" : "false",
	    r->unanswered ? "true" : "false", (unsigned long long)planted);
	if (!r->lost && !r->unanswered) {
		put_bounds("least", false, clients);
		put_bounds("most", true, clients);
	}
	put("}");
}

static void run_room(struct room *r)
{
	pthread_t second;
	int fd;

	memset(samples, 0, sizeof(samples));
	room_open(r);
	for (size_t i = 0; i < (r->once ? count : 1); i++) {
		fd = room_connect(r);
		/* Connections are accepted in the order in which they were made. */
		if (r->serve_all)
			pthread_create(&second, NULL, second_client, r);
		r->ask(fd);
		close(fd);
	}
	if (r->serve_all)
		pthread_join(second, NULL);
	room_close(r);
	put_room(r);
}

/* --- connections from before --- */

static struct room earlier[] = {
	{.comm = "r-tcp", .serve = serve_dozing},
	{.comm = "r-unix", .serve = serve_holding, .family = AF_UNIX},
};

static void run_earlier(uint64_t wanted)
{
	static struct sample one;
	int fds[2];

	count = 1;
	for (int i = 0; i < 2; i++) {
		room_open(&earlier[i]);
		fds[i] = room_connect(&earlier[i]);
		ask_plainly(fds[i]);
	}
	reached("ready");
	gate("go");
	count = wanted;
	for (int i = 0; i < 2; i++)
		ask_plainly(fds[i]);
	progress = 0;
	holds = true;
	ask(fds[1], &one, SIZE);
	await_progress(1);
	reached("done");
	gate("end");
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
		room_close(&earlier[i]);
		put_row_of("part", 0, earlier[i].comm, "", count, 0);
		put("}");
	}
}

static void run_all(void)
{
	reached("ready");
	gate("go");
	for (size_t i = 0; i < ROOMS; i++)
		run_room(&rooms[i]);
	put_row_of("part", 0, "r-back", "blocked", count, 0);
	put(",\"lost\":false,\"unanswered\":false,\"planted\":%llu}",
	    (unsigned long long)(count * PLANTED));
	reached("done");
	gate("end");
}

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc != 2 && (argc != 3 || strcmp(argv[2], "before")))
		misuse("one COUNT");
	count = parse_number(argv[1], "COUNT", 2, MOST - 1) / 2 * 2;
	report_begin();
	if (argc == 3)
		run_earlier(count);
	else
		run_all();
	report_end();
	return 0;
}
