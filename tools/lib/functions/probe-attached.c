/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe: the list of attached probes: their misses, and detaching. */
#include <plumb/functions/probing.h>

#include <plumb/core/program.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/reasons.h>
#include <plumb/terminal/progress.h>

#include <bpf/bpf.h>

bool plumb_signals_pending(void)
{
	sigset_t set, wanted = plumb_signals_of_end();

	return !sigpending(&set) && !sigandset(&set, &set, &wanted) && !sigisemptyset(&set);
}

/* Forgets those: only later ones are pending then. */
static void drop_signals(void)
{
	const sigset_t set = plumb_signals_of_end();

	while (sigtimedwait(&set, NULL, &(struct timespec){}) > 0)
		;
}

/* Above this number of probes, a message: the kernel takes some 10 to 150 ms to remove each. */
#define SLOW 50

/* The part of struct bpf_link_info that has numbers of misses. */
struct link_info {
	__u32 type, id, program, pad;
	union {
		struct {
			__u32 kind, pad;
			__u64 name;
			__u32 name_length, offset;
			__u64 address, missed;
		} perf_event;
		struct {
			__u64 addresses;
			__u32 n, flags;
			__u64 missed;
		} kprobe_multi;
		__u64 rest[16];
	};
};

static bool probes_missed(const struct plumb_probes *probes, uint64_t *missed);

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void plumb_probe_drop(struct plumb_probe *probe)
{
	close_fd(&probe->link);
	close_fd(&probe->event);
	plumb_return_remove(&probe->in_tracefs);
	close_fd(&probe->program);
}

void plumb_probe_own(struct plumb_probes *probes)
{
	static const struct plumb_probe_by by = {
		.detach = plumb_probe_detach,
		.close = plumb_probe_close,
		.missed = probes_missed,
		.keep = plumb_probe_retain_cpus,
		.look_at_cpus = plumb_probe_look_at_cpus,
	};

	probes->by = &by;
}

void plumb_probe_add(struct plumb_probes *probes, const struct plumb_probe *probe)
{
	plumb_probe_own(probes);
	*plumb_append(probes->list, probes->n) = *probe;
}

void plumb_probe_note(struct plumb_probes *probes, const char *kind, const char *name)
{
	struct plumb_target_names *names = &probes->names;

	plumb_probe_own(probes);
	if (!names->list)
		names->list = plumb_zeroed(PLUMB_MAX_NAMES, sizeof(*names->list));
	if (names->n < PLUMB_MAX_NAMES)
		names->list[names->n] = plumb_text("%s:%s", kind, name);
	names->n++;
}

void plumb_probe_refuse(struct plumb_probes *probes, size_t i, const char *name, int err)
{
	plumb_probe_own(probes);
	plumb_info("%s: not attached: %s", name, plumb_errno_name(err));
	/* Both programs of a target may be refused. */
	if (!plumb_probe_refusal(probes, i))
		*plumb_append(probes->refusals, probes->refused) =
			(struct plumb_refused){i, err < 0 ? err : -err};
}

int plumb_probe_common_refusal(const struct plumb_probes *probes)
{
	for (size_t r = 1; r < probes->refused; r++)
		if (probes->refusals[r].err != probes->refusals[0].err)
			return 0;
	return probes->refused ? probes->refusals[0].err : 0;
}

static bool link_missed(const struct plumb_probe *probe, uint64_t *missed)
{
	enum { KPROBE_MULTI_LINK = 8, PERF_EVENT_LINK = 7 }; /* enum bpf_link_type */
	enum { KPROBE = 3, KRETPROBE };                      /* enum bpf_perf_event_type */
	struct link_info info = {};
	__u32 size = sizeof(info);

	if (probe->in_tracefs) {
		plumb_return_missed(probe->in_tracefs, missed);
		return true;
	}
	if (bpf_obj_get_info_by_fd(probe->link, &info, &size))
		return false;
	if (info.type == KPROBE_MULTI_LINK)
		*missed += info.kprobe_multi.missed;
	else if (info.type == PERF_EVENT_LINK &&
		 (info.perf_event.kind == KPROBE || info.perf_event.kind == KRETPROBE))
		*missed += info.perf_event.missed;
	return true;
}

static bool probes_missed(const struct plumb_probes *probes, uint64_t *missed)
{
	bool known = !probes->missed_unknown;

	*missed += probes->missed;
	for (size_t i = 0; i < probes->n; i++) {
		const struct plumb_probe *probe = &probes->list[i];

		if (probe->program >= 0 && !plumb_program_missed(probe->program, missed))
			known = false;
		if (probe->link >= 0 && !link_missed(probe, missed))
			known = false;
	}
	return known;
}

static size_t count_attached(const struct plumb_probes *probes)
{
	size_t n = 0;

	for (size_t i = 0; i < probes->n; i++)
		n += probes->list[i].link >= 0 || probes->list[i].event >= 0;
	return n;
}

void plumb_probe_detach_some(struct plumb_probes *probes, size_t first, size_t n)
{
	for (size_t i = first + n; i-- > first;) {
		struct plumb_probe *probe = &probes->list[i];

		plumb_progress("detaching", first + n - i, n);
		if (probes->may_leave && plumb_signals_pending()) {
			plumb_warn("leaves %zu probes for the kernel to detach at exit",
				   i + 1 - first);
			probes->left = probes->missed_unknown = true;
			break;
		}
		if (probe->link >= 0 && !link_missed(probe, &probes->missed))
			probes->missed_unknown = true;
		close_fd(&probe->link);
		close_fd(&probe->event);
		plumb_return_remove(&probe->in_tracefs);
	}
	plumb_progress_end();
}

/* In reverse order of attaching, so that calls in flight still find their exit program. */
void plumb_probe_detach(struct plumb_probes *probes)
{
	uint64_t start = plumb_now();
	size_t n = probes->left ? 0 : count_attached(probes);

	if (!n)
		return;
	probes->may_leave &= n > SLOW;
	/* The signal that ended the trace may not have been read, if it was over anyway. */
	if (probes->may_leave)
		drop_signals();
	if (n > SLOW)
		plumb_warn("detaching %zu probes one by one, which takes a while%s", n,
			   probes->may_leave ? "; Ctrl-C: the report at once" : "");
	plumb_probe_detach_some(probes, 0, probes->n);
	if (!probes->left)
		plumb_info("%zu probes detached in %.3f s", n, (plumb_now() - start) / 1e9);
}

void plumb_probe_close(struct plumb_probes *probes)
{
	for (size_t i = 0; i < probes->n && !probes->left; i++) {
		plumb_progress("detaching", i + 1, probes->n);
		plumb_probe_drop(&probes->list[i]);
	}
	plumb_progress_end();
	for (size_t i = 0; probes->names.list && i < PLUMB_MAX_NAMES; i++)
		free(probes->names.list[i]);
	free(probes->names.list);
	plumb_probe_forget_cpus(probes);
	free(probes->list);
	free(probes->refusals);
	*probes = (struct plumb_probes){};
}
