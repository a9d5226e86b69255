/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/schedule/when.h>

#define YEAR (366 * 24 * 3600 * PLUMB_SECOND)

/* Reads N digits of a number up to MAX; NULL: *TEXT is not that. */
static const char *digits(const char *text, int n, int max, int *value)
{
	*value = 0;
	for (int i = 0; text && i < n; i++) {
		if (!isdigit((unsigned char)text[i]))
			return NULL;
		*value = *value * 10 + text[i] - '0';
	}
	return text && *value <= max ? text + n : NULL;
}

static const char *sign(const char *text, char wanted)
{
	return text && *text == wanted ? text + 1 : NULL;
}

/* HH:MM, and :SS if WHOLE or if it is there. */
static const char *clock_time(const char *text, bool whole, struct tm *tm)
{
	text = digits(text, 2, 23, &tm->tm_hour);
	text = digits(sign(text, ':'), 2, 59, &tm->tm_min);
	tm->tm_sec = 0;
	if (text && (whole || *text == ':'))
		text = digits(sign(text, ':'), 2, 59, &tm->tm_sec);
	return text;
}

/* Z or +HH:MM, in seconds. */
static const char *offset(const char *text, int *seconds)
{
	const int direction = text && *text == '-' ? -1 : 1;
	int hours, minutes;

	*seconds = 0;
	if (text && *text == 'Z')
		return text + 1;
	if (!text || (*text != '+' && *text != '-'))
		return NULL;
	text = digits(text + 1, 2, 23, &hours);
	text = digits(sign(text, ':'), 2, 59, &minutes);
	*seconds = direction * (hours * 3600 + minutes * 60);
	return text;
}

static int parse_rfc3339(const char *text, struct plumb_when *when)
{
	struct tm tm = {}, given;
	int seconds;
	time_t at;

	text = digits(text, 4, 9999, &tm.tm_year);
	text = digits(sign(text, '-'), 2, 12, &tm.tm_mon);
	text = digits(sign(text, '-'), 2, 31, &tm.tm_mday);
	text = offset(clock_time(sign(text, 'T'), true, &tm), &seconds);
	if (!text || *text)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	given = tm;
	at = timegm(&tm);
	/* timegm() would take the 31st of June as the 1st of July. */
	if (tm.tm_mon != given.tm_mon || tm.tm_mday != given.tm_mday || at < seconds)
		return -EINVAL;
	*when = (struct plumb_when){PLUMB_WHEN_AT, (at - seconds) * PLUMB_SECOND};
	return 0;
}

int plumb_when_parse(const char *text, struct plumb_when *when)
{
	const char *end;
	struct tm tm;
	uint64_t ns;

	if (*text == '+' || *text == '/') {
		if (plumb_parse_span(text + 1, 1, YEAR, &ns))
			return -EINVAL;
		*when = (struct plumb_when){*text == '+' ? PLUMB_WHEN_AFTER : PLUMB_WHEN_MULTIPLE,
					    ns};
		return 0;
	}
	end = clock_time(text, false, &tm);
	if (!end || *end)
		return parse_rfc3339(text, when);
	ns = (tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * PLUMB_SECOND;
	*when = (struct plumb_when){PLUMB_WHEN_CLOCK, ns};
	return 0;
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
