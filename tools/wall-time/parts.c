/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "parts.h"

#include <search.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/stacks/stacks.h>

#include "peers.h"
#include "quota.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* One copy of each text, also for the next report. */
const char *part_text(const char *text)
{
	static void *texts;
	char **found = tfind(text, &texts, by_text);

	if (!found)
		found = tsearch(plumb_copied(text), &texts, by_text);
	return *(char **)plumb_required(found);
}

struct part *part_add(struct account *a, struct life *life, int64_t ns, uint64_t count)
{
	struct part *part = plumb_append(a->parts, a->n);

	*part = (struct part){
		.ns = ns, .count = count, .place = "", .peer = "", .start = "", .other_start = ""};
	if (life) {
		life->ns += a->counts ? 0 : ns;
		part->pid = life->pid;
		part->tid = life->tid;
		memcpy(part->comm, life->comm, sizeof(part->comm));
		part->waiter = life->waiter;
	}
	return part;
}

/* What is not told of another thread, or is not needed. */
static void trim_other(struct part *part)
{
	struct wall_other *other = &part->other;
	const uint32_t pid = other->pid, tid = other->tid;

	switch (part->cause) {
	case CAUSE_TAKEN:
		other->tid = pid == part->pid ? tid : 0;
		break;
	case CAUSE_THREAD:
		other->call = 0;
		break;
	case CAUSE_PROCESS:
	case CAUSE_PEER:
		other->tid = 0;
		break;
	case CAUSE_QUOTA:
		*other = (struct wall_other){};
		break;
	case CAUSE_KTHREAD:
		other->tid = other->pid = other->call = 0;
		break;
	default:
		*other = (struct wall_other){};
	}
}

static void judge(struct part *part, const struct clue *clue)
{
	const char *place;

	part->cause = cause_of(clue);
	part->work = cause_work(clue, part->cause);
	part->what = cause_is_kthread(clue) ? 0 : clue->what & ~WALL_IO;
	place = cause_place(clue);
	part->place = place ? part_text(place) : "";
	part->other = *clue->other;
	trim_other(part);
}

/* What the thread did in the spot that /proc showed. */
void part_judge_spot(struct part *part, enum wall_kind kind, const struct spot *spot)
{
	static const struct wall_other nobody;
	const struct clue clue = {
		.kind = spot->state == 'T' || spot->state == 't' ? WALL_STOPPED : kind,
		.what = spot->what,
		.other = &nobody,
		.pid = part->pid,
		.frames = (const char *const *)spot->frames.text,
		.n = spot->frames.n_kernel,
	};

	if (!spot->state)
		part->cause = CAUSE_UNTOLD;
	else if (spot->state == 'R')
		part->cause = CAUSE_TAKEN;
	else
		judge(part, &clue);
}

/* The innermost function of user code that has a name: the vDSO's have none. */
static const char *user_place(const struct plumb_frames *frames)
{
	for (size_t i = 0; i < frames->n; i++)
		if (frames->text[i][0] != '[')
			return part_text(frames->text[i]);
	return "";
}

void part_judge_key(struct part *part, const struct plumb_report *r, const struct wall_key *key)
{
	struct plumb_frames frames = {};
	struct clue clue = {
		.kind = key->kind,
		.what = key->stack.what,
		.other = &key->other,
		.pid = part->pid,
	};
	char peer[64];

	if (key->kind == WALL_THROTTLED) {
		part->cause = CAUSE_QUOTA;
		part->quota = quota_of(r->run->instance.bpf.object, &key->quota);
		return;
	}
	clue.served = peer_text(r->run, key->peer, part->pid, peer, sizeof(peer));
	clue.asks = *peer && !clue.served;
	part->peer = part_text(peer);
	if (!clue.served)
		peer_process(r->run, key->peer, part->pid, key->other.pid, &part->process);
	plumb_frames_name(&frames, r->run->instance.bpf.object, &key->stack);
	clue.frames = (const char *const *)frames.text;
	clue.n = frames.n_kernel;
	judge(part, &clue);
	if (part->work == WORK_POOL && frames.in_rwlock) {
		part->work = WORK_NOT;
		part->what |= WALL_RWLOCK;
	}
	part->start = part_text(plumb_frames_start(&frames) ?: "");
	part->stack = &key->stack;
	part->device = key->device;
	if (part->cause == CAUSE_USER)
		part->place = user_place(&frames);
	plumb_frames_free(&frames);
}
