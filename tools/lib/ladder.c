/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ladder: which rung holds is found by trying.  A rung holds when its object
 * opens, loads and attaches here, in this configuration.
 */
#include <errno.h>
#include <plumb/log.h>
#include <plumb/session.h>
#include <stdio.h>
#include <string.h>

static int attach(struct plumb_session *s, char *why, size_t size)
{
	int err;

	plumb_calibrate_traced(s);
	if (s->tool->calibrate && s->options.calibrate)
		s->tool->calibrate(s);
	err = plumb_instance_attach(&s->instance, why, size);
	if (err)
		plumb_instance_close(&s->instance);
	else
		plumb_calibrate_filtered(s);
	return err;
}

/* Is this rung to be tried?  If not, and if that is worth a line, it is noted as refused. */
static bool is_worth_trying(struct plumb_session *s, const struct plumb_rung *rung)
{
	const char *unfit = rung->unfit ? rung->unfit(&s->options) : NULL;
	const char *outdone = !unfit && rung->outdone ? rung->outdone() : NULL;
	struct plumb_refusal *no = &s->refused[s->n_refused];

	if (s->options.mechanism)
		return !strcmp(s->options.mechanism, rung->name);
	if (unfit)
		plumb_info("%s not tried: %s", rung->name, unfit);
	if (outdone && *outdone) {
		no->name = rung->name;
		snprintf(no->why, sizeof(no->why), "%s", outdone);
		s->n_refused++;
	}
	return !unfit && !outdone;
}

int plumb_ladder_climb(struct plumb_session *s)
{
	const struct plumb_rung *rung;
	struct plumb_refusal *no;
	int err = -ENOENT;

	for (size_t i = 0; i < s->tool->n_rungs; i++) {
		rung = &s->tool->rungs[i];
		if (!is_worth_trying(s, rung))
			continue;
		no = &s->refused[s->n_refused];
		err = plumb_instance_load(s, rung, no->why, sizeof(no->why));
		if (!err)
			err = attach(s, no->why, sizeof(no->why));
		if (!err)
			return 0;
		no->name = rung->name;
		s->n_refused++;
		plumb_info("%s refused: %s", no->name, no->why);
	}
	return err;
}
