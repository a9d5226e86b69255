/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ladder: which rung holds is found by trying.  A rung holds when its object
 * opens, loads and attaches here, in this configuration.
 */
#include <errno.h>
#include <plumb/base/clock.h>
#include <plumb/base/log.h>
#include <plumb/session/rungs.h>
#include <plumb/session/session.h>
#include <stdio.h>
#include <string.h>

static int attach(struct plumb_session *s, char *why, size_t size)
{
	int err;

	plumb_calibrate_traced(s);
	if (s->tool->calibrate && s->options.calibrate)
		s->tool->calibrate(s);
	err = plumb_instance_attach(&s->instance, why, size);
	if (err) {
		plumb_instance_close(&s->instance);
		return err;
	}
	clock_gettime(CLOCK_REALTIME, &s->attached.time);
	s->attached.clock = plumb_now();
	plumb_calibrate_filtered(s);
	return 0;
}

/* Why a later rung is better here, NULL: none is. */
static const char *outdone(const struct plumb_session *s, const struct plumb_rung *rung)
{
	if (rung->outdone)
		return rung->outdone();
	return rung->aims && s->tool->functions
		       ? plumb_aims_outdone(rung->aims, s->tool->functions->n)
		       : NULL;
}

static void refuse(struct plumb_session *s, const struct plumb_rung *rung, int err, const char *why)
{
	struct plumb_refusal *no = &s->refused[s->n_refused++];

	no->name = rung->name;
	no->err = err;
	snprintf(no->why, sizeof(no->why), "%s", why);
}

/* It is tried after all. */
static void forget_refusal(struct plumb_session *s, const struct plumb_rung *rung)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_refused; i++)
		if (s->refused[i].name != rung->name)
			s->refused[n++] = s->refused[i];
	s->n_refused = n;
}

/*
 * Is this rung to be tried?  If not, and if that is worth a line, it is noted as refused.  At last
 * what is outdone by none that holds.
 */
static bool is_worth_trying(struct plumb_session *s, const struct plumb_rung *rung, bool last)
{
	const char *unfit, *why;

	if (s->options.mechanism)
		return !last && !strcmp(s->options.mechanism, rung->name);
	unfit = rung->unfit ? rung->unfit(&s->options) : NULL;
	why = unfit ? NULL : outdone(s, rung);
	if (last) {
		if (!why || !*why)
			return false;
		forget_refusal(s, rung);
		return true;
	}
	if (unfit)
		plumb_info("%s not tried: %s", rung->name, unfit);
	if (why && *why)
		refuse(s, rung, 0, why);
	return !unfit && !why;
}

static int climb(struct plumb_session *s, bool last)
{
	const struct plumb_rung *rung;
	char why[sizeof(s->refused[0].why)];
	int err = -ENOENT;

	for (size_t i = 0; i < s->tool->n_rungs; i++) {
		rung = &s->tool->rungs[i];
		if (!is_worth_trying(s, rung, last))
			continue;
		err = plumb_instance_load(s, rung, why, sizeof(why));
		if (!err)
			err = attach(s, why, sizeof(why));
		if (!err)
			return 0;
		refuse(s, rung, err, why);
		plumb_info("%s refused: %s", rung->name, why);
	}
	return err;
}

int plumb_ladder_climb(struct plumb_session *s)
{
	int err = climb(s, false);

	return err ? climb(s, true) : 0;
}
