/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/recorder/in-order.h>

/* The columns of a time, below which what does not fit into a line goes on. */
#define INDENT 13
#define LEAST  40 /* columns: a narrower terminal wraps lines itself */

/* ns: maximum time from an event's end until its record arrives here, if the tool has no other. */
#define ON_ITS_WAY 10000000

static uint64_t on_its_way(const struct plumb_in_order *o)
{
	return o->on_its_way ?: ON_ITS_WAY;
}

static void begin(void *context, struct plumb_run *run)
{
	struct plumb_in_order *o = context;

	o->run = run;
}

static int add(void *context, const void *record, size_t size)
{
	struct plumb_in_order *o = context;
	char *to;

	if ((o->takes && !o->takes(record, size)) || size < (o->least ?: o->size))
		return 0;
	if (o->n == o->room) {
		o->room = o->room * 2 ?: 64;
		o->list = reallocarray(o->list, o->room, o->size);
		if (!o->list)
			abort();
	}
	to = o->list + o->n++ * o->size;
	memset(to, 0, o->size);
	memcpy(to, record, size < o->size ? size : o->size);
	return 0;
}

static uint64_t end_of(const void *record)
{
	uint64_t end;

	memcpy(&end, record, sizeof(end));
	return end;
}

static int by_end(const void *a, const void *b)
{
	uint64_t x = end_of(a), y = end_of(b);

	return (x > y) - (x < y);
}

/* Local time: "HH:MM:SS.mmm". */
static void print_time(const struct timespec *t, FILE *out)
{
	char text[16];
	struct tm tm;

	localtime_r(&t->tv_sec, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(out, "%s.%03ld", text, t->tv_nsec / 1000000);
}

static int print_one(struct plumb_in_order *o, const void *record, FILE *out)
{
	const uint64_t ns = plumb_wall_clock() + end_of(record);
	const struct timespec end = {ns / PLUMB_SECOND, ns % PLUMB_SECOND};
	json_t *json;

	if (o->run->options.json) {
		json = json_pack("{s:o}", "end", plumb_json_time(&end));
		o->add_json(record, json);
		return plumb_json_print(json_pack("{s:o}", o->json_name, json), out);
	}
	if (!o->printed) {
		fprintf(out, "%-12s", "ENDED");
		o->heading(out);
	}
	o->printed = true;
	print_time(&end, out);
	o->print(record, out);
	return 0;
}

/* Return how many records are so old that all events which ended before them have arrived. */
static size_t count_settled(const struct plumb_in_order *o, bool all)
{
	/* Records still in the ring buffer can have ended a little before the last one read. */
	uint64_t until = all ? plumb_now() : end_of(o->list + (o->n - 1) * o->size);
	size_t n = 0;

	while (n < o->n && end_of(o->list + n * o->size) + on_its_way(o) <= until)
		n++;
	return n;
}

/* Write TEXT by a single fwrite(), so that errno is that of the failed write. */
static int write_out(const char *text, size_t size)
{
	int err;

	if (!size || (fwrite(text, 1, size, stdout) == size && !fflush(stdout)))
		return 0;
	err = -errno;
	clearerr(stdout); /* the caller reports it; the exit must not report it again */
	return err;
}

/*
 * Where to end a line of at most WIDTH bytes: before the last blank, or else behind the last "|" or
 * "/", if that leaves half of it.
 */
static size_t line_end(const char *line, size_t width)
{
	size_t end = width;

	while (end > width / 2 && line[end] != ' ')
		end--;
	if (line[end] == ' ') {
		while (end && line[end - 1] == ' ')
			end--;
		return end;
	}
	for (end = width; end > width / 2; end--)
		if (line[end - 1] == '|' || line[end - 1] == '/')
			return end;
	for (end = width; (line[end] & 0xc0) == 0x80; end--)
		; /* not within a character */
	return end;
}

/* TEXT, whose lines are at most WIDTH bytes long then; NULL: no memory. */
static char *fold(const char *text, size_t width, size_t *size)
{
	size_t length, end, indent = 0;
	char *folded = NULL;
	FILE *out = open_memstream(&folded, size);

	for (; out && *text; text += length + !!text[length]) {
		for (length = strcspn(text, "\n"); length > width - indent; indent = INDENT) {
			end = line_end(text, width - indent);
			fprintf(out, "%.*s\n%*s", (int)end, text, INDENT, "");
			end += strspn(text + end, " ");
			text += end;
			length -= end;
		}
		fprintf(out, "%.*s\n", (int)length, text);
		indent = 0;
	}
	if (out && !fclose(out))
		return folded;
	free(folded);
	return NULL;
}

static int print_settled(struct plumb_in_order *o, size_t settled)
{
	size_t size = 0;
	char *text = NULL, *folded = NULL;
	FILE *out = open_memstream(&text, &size);
	int err = out ? 0 : -errno, width;

	for (size_t i = 0; i < settled && !err; i++)
		err = print_one(o, o->list + i * o->size, out);
	if (out && fclose(out) && !err)
		err = -errno;
	if (!err && !o->run->options.json && isatty(STDOUT_FILENO)) {
		width = plumb_output_width(stdout);
		folded = fold(text, width < LEAST ? LEAST : width, &size);
		err = folded ? 0 : -ENOMEM;
	}
	if (!err)
		err = write_out(folded ?: text, size);
	free(folded);
	free(text);
	return err;
}

/* --- records that are kept --- */

struct plumb_in_order *plumb_in_order_of(const struct plumb_tool *tool)
{
	const struct plumb_ring *ring = tool->rings;
	struct plumb_in_order *o;

	for (size_t i = 0; ring && i < PLUMB_MAX_RINGS && ring[i].map; i++) {
		o = ring[i].handlers == &plumb_in_order ? ring[i].context : NULL;
		if (o && o->may_keep)
			return o;
	}
	return NULL;
}

int plumb_in_order_hold(struct plumb_in_order *o, size_t most)
{
	o->kept = calloc(most, o->size);
	o->most = most;
	return o->kept ? 0 : -ENOMEM;
}

static int keep_settled(struct plumb_in_order *o, size_t settled)
{
	for (size_t i = 0; i < settled; i++)
		memcpy(o->kept + o->seen++ % o->most * o->size, o->list + i * o->size, o->size);
	return 0;
}

int plumb_in_order_dump(struct plumb_in_order *o, FILE *out)
{
	int err = 0;

	for (uint64_t i = o->seen > o->most ? o->seen - o->most : 0; i < o->seen && !err; i++)
		err = print_one(o, o->kept + i % o->most * o->size, out);
	return err;
}

/* Prints or keeps records that are settled. */
static int take_settled(struct plumb_in_order *o, bool all)
{
	size_t settled;
	int err;

	if (!o->n)
		return 0;
	qsort(o->list, o->n, o->size, by_end);
	settled = count_settled(o, all);
	err = !settled ? 0 : o->most ? keep_settled(o, settled) : print_settled(o, settled);
	o->n -= settled;
	memmove(o->list, o->list + settled * o->size, o->n * o->size);
	if (err && err != -EPIPE)
		return plumb_error(err, "cannot write to standard output: %s", strerror(-err));
	return err;
}

static int idle(void *context, bool all, uint64_t *again)
{
	struct plumb_in_order *o = context;
	int err = take_settled(o, all);

	*again = o->n || (all && o->awaits) ? on_its_way(o) : 0;
	o->awaits &= !all;
	return err;
}

const struct plumb_ring_handlers plumb_in_order = {begin, add, idle};
