/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/schedule/when.h>

#define YEAR (366 * 24 * 3600 * PLUMB_SECOND)

/*
 * Reads a date, or a time of the day, that begins TEXT, as s in UTC; -1: it is none.  What
 * strptime() takes besides (spaces, single digits, the 31st of June, a 60th second) would be
 * written otherwise.
 */
static time_t read_utc(const char *text, const char *format, const char **rest)
{
	struct tm tm = {.tm_year = 70, .tm_mday = 1};
	char again[32];
	time_t at;

	*rest = strptime(text, format, &tm);
	at = timegm(&tm);
	return *rest && strftime(again, sizeof(again), format, &tm) == (size_t)(*rest - text) &&
			       !memcmp(again, text, *rest - text)
		       ? at
		       : -1;
}

/* Z or +HH:MM, in s. */
static bool is_offset(const char *text, time_t *seconds)
{
	const bool is_whole = !strcmp(text, "Z") || (strlen(text) == 6 && text[3] == ':');
	struct tm tm = {};
	const char *end = strptime(text, "%z", &tm);

	*seconds = tm.tm_gmtoff;
	return is_whole && end && !*end && labs(*seconds) < 24 * 3600;
}

int plumb_when_parse(const char *text, struct plumb_when *when)
{
	static const char *const forms[] = {"%H:%M", "%H:%M:%S", "%Y-%m-%dT%H:%M:%S"};
	time_t at, offset;
	const char *rest;

	*when = (struct plumb_when){.kind = *text == '+' ? PLUMB_WHEN_AFTER : PLUMB_WHEN_MULTIPLE};
	if (*text == '+' || *text == '/')
		return plumb_parse_span(text + 1, 1, YEAR, &when->ns) ? -EINVAL : 0;
	for (size_t i = 0; i < 3; i++) {
		at = read_utc(text, forms[i], &rest);
		if (at < 0 || (i < 2 ? *rest : !is_offset(rest, &offset) || at < offset))
			continue;
		*when = i < 2 ? (struct plumb_when){PLUMB_WHEN_CLOCK, at * PLUMB_SECOND}
			      : (struct plumb_when){PLUMB_WHEN_AT, (at - offset) * PLUMB_SECOND};
		return 0;
	}
	return -EINVAL;
}

/* The earlier of A and B that is later than FROM; 0: neither. */
static uint64_t sooner_after(uint64_t from, uint64_t a, uint64_t b)
{
	return a <= from || (b > from && b < a) ? (b > from ? b : 0) : a;
}

/* When the clock shows TM at OFFSET seconds from UTC; 0: then the offset is another. */
static uint64_t at_offset(const struct tm *tm, long offset)
{
	struct tm wanted = *tm, shown;
	const time_t at = timegm(&wanted) - offset;

	localtime_r(&at, &shown);
	return shown.tm_gmtoff == offset ? at * PLUMB_SECOND : 0;
}

/*
 * Today's or tomorrow's.  An hour that the clock repeats has two, by the offsets of the days before
 * and after; mktime() finds one of them, and also something for a time that the clock skips.
 */
static uint64_t next_clock(uint64_t since_midnight, uint64_t from)
{
	const int seconds = since_midnight / PLUMB_SECOND;
	const time_t now = from / PLUMB_SECOND;
	uint64_t next = 0;

	for (int day = 0; day < 2; day++) {
		struct tm tm, copy, near;

		localtime_r(&now, &tm);
		tm.tm_mday += day;
		tm.tm_hour = seconds / 3600;
		tm.tm_min = seconds / 60 % 60;
		tm.tm_sec = seconds % 60;
		tm.tm_isdst = -1;
		for (int side = -1; side <= 1; side += 2) {
			const time_t then = now + (day + side) * 24 * 3600;

			localtime_r(&then, &near);
			next = sooner_after(from, next, at_offset(&tm, near.tm_gmtoff));
		}
		copy = tm;
		next = sooner_after(from, next, mktime(&copy) * PLUMB_SECOND);
	}
	return next;
}

uint64_t plumb_when_resolve(const struct plumb_when *when, uint64_t from)
{
	switch (when->kind) {
	case PLUMB_WHEN_CLOCK:
		return next_clock(when->ns, from);
	case PLUMB_WHEN_AFTER:
		return from + when->ns;
	case PLUMB_WHEN_MULTIPLE:
		return (from / when->ns + 1) * when->ns;
	default:
		return when->ns;
	}
}

bool plumb_when_is_of_clock(const struct plumb_when *when)
{
	return when->kind == PLUMB_WHEN_CLOCK || when->kind == PLUMB_WHEN_AT;
}

/* Waits by CLOCK until AT: 0, -ECANCELED if the clock was set, or another -errno. */
static int wait_by(int timer, uint64_t at)
{
	const struct itimerspec spec = {
		.it_value = {at / PLUMB_SECOND, at % PLUMB_SECOND},
	};
	uint64_t expired;

	if (timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &spec, NULL))
		return -errno;
	return read(timer, &expired, sizeof(expired)) < 0 ? -errno : 0;
}

int plumb_when_wait(const struct plumb_when *when, uint64_t *came)
{
	const bool by_wall = when->kind != PLUMB_WHEN_AFTER;
	const int timer = timerfd_create(by_wall ? CLOCK_REALTIME : CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t now = by_wall ? plumb_wall_now() : plumb_now();
	uint64_t at = plumb_when_resolve(when, now);
	int err;

	if (timer < 0)
		return -errno;
	/* A date may have passed since it was parsed. */
	plumb_info("waiting for %.3f s", at > now ? (at - now) / 1e9 : 0);
	do {
		err = wait_by(timer, at);
		now = by_wall ? plumb_wall_now() : plumb_now();
		/* The timer may expire before it is cancelled. */
		if (!err && by_wall && now > at + PLUMB_SECOND)
			err = -ECANCELED;
		if (err == -ECANCELED && when->kind == PLUMB_WHEN_MULTIPLE)
			at = plumb_when_resolve(when, now);
		else if (err == -ECANCELED && at < now)
			at = now; /* the clock has skipped it */
	} while (err == -ECANCELED || err == -EINTR);
	close(timer);
	now = by_wall ? plumb_wall_now() : plumb_now();
	*came = plumb_now() - (now - at);
	return err;
}
