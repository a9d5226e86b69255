/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/functions/allowed-functions.h>
#include <plumb/functions/probing.h>
#include <plumb/guard/allowed.h>
#include <plumb/user/allowed-files.h>
#include <plumb/user/hook-try.h>
#include <plumb/user/self-test.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* Events to attach to: a descriptor, or -errno. */
static int open_tracepoint(void)
{
	struct plumb_tracepoints found;
	int err = plumb_self_test_find_tracepoint(&found);

	if (err)
		return err;
	err = plumb_probe_open_tracepoint(found.list[0].id);
	plumb_tracepoints_free(&found);
	return err;
}

static int open_uprobe(void)
{
	struct plumb_userfuncs found;
	int err = plumb_self_test_find_userfunc(plumb_self_test_call, &found);

	if (err)
		return err;
	err = plumb_probe_open_pmu("uprobe", false, (uintptr_t)found.path, found.list[0].offset);
	plumb_userfuncs_free(&found);
	return err;
}

/* The tracepoint's name is the same in both forms. */
static int allowed(enum plumb_hook hook)
{
	static struct plumb_tracepoint t = {.category = "task", .name = "task_rename"};
	const struct plumb_tracepoints one = {.list = &t, .n = 1};
	struct plumb_userfuncs found;
	char what[256];
	int err;

	switch (hook) {
	case PLUMB_RAW_TRACEPOINT:
	case PLUMB_TRACEPOINT:
		return plumb_allowed_tracepoints(&one, what, sizeof(what));
	case PLUMB_UPROBE:
		err = plumb_self_test_find_userfunc(plumb_self_test_call, &found);
		if (err)
			return err;
		err = plumb_allowed_userfuncs(&found, what, sizeof(what));
		plumb_userfuncs_free(&found);
		return err;
	default:
		return plumb_allowed_name("k", PLUMB_HOOK_FUNCTION, what, sizeof(what));
	}
}

static int attach(enum plumb_hook hook, struct plumb_probe *probe)
{
	const char *raw = hook == PLUMB_RAW_TRACEPOINT ? "task_rename" : NULL;

	switch (hook) {
	case PLUMB_RAW_TRACEPOINT:
	case PLUMB_FENTRY:
	case PLUMB_FEXIT:
	case PLUMB_FSESSION:
		probe->link = bpf_raw_tracepoint_open(raw, probe->program);
		return probe->link < 0 ? -errno : 0;
	case PLUMB_KPROBE_MULTI:
	case PLUMB_KPROBE_SESSION:
		probe->link = plumb_hook_link_many(probe->program, hook, PLUMB_HOOK_FUNCTION);
		return probe->link < 0 ? probe->link : 0;
	case PLUMB_TRACEPOINT:
		probe->event = open_tracepoint();
		break;
	case PLUMB_UPROBE:
		probe->event = open_uprobe();
		break;
	default:
		probe->event =
			plumb_probe_open_pmu("kprobe", false, (uintptr_t)PLUMB_HOOK_FUNCTION, 0);
	}
	return probe->event < 0 ? probe->event : plumb_probe_attach_event(probe, 0);
}

int plumb_hook_try(enum plumb_hook hook, char *why, size_t size)
{
	struct plumb_probe probe = {.program = plumb_hook_load(hook), .event = -1, .link = -1};
	int err = probe.program < 0 ? probe.program : allowed(hook) ?: attach(hook, &probe);

	plumb_probe_drop(&probe);
	*why = 0;
	if (err)
		plumb_hook_explain(hook, err, why, size);
	return err;
}

bool plumb_hook_if_possible(struct bpf_program *p, const char *function)
{
	char why[192];
	bool possible = function && !plumb_hook_try(PLUMB_FENTRY, why, sizeof(why)) &&
			!plumb_hook_set_function(p, function);

	if (!possible)
		bpf_program__set_autoload(p, false);
	return possible;
}
