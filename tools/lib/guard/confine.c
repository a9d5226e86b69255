/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/guard/confine.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <plumb/core/log.h>

#include "confine-calls.h"

static uint64_t held(cap_t caps, cap_flag_t set)
{
	cap_flag_value_t value;
	uint64_t bits = 0;

	for (cap_value_t c = 0; c < cap_max_bits(); c++)
		if (!cap_get_flag(caps, c, set, &value) && value == CAP_SET)
			bits |= 1ULL << c;
	return bits;
}

static int set(cap_t caps, cap_flag_t which, uint64_t bits, cap_flag_value_t value)
{
	int err = 0;

	for (cap_value_t c = 0; c < cap_max_bits() && !err; c++)
		if (bits >> c & 1)
			err = cap_set_flag(caps, which, 1, &c, value);
	return err;
}

/*
 * The bounding set can only be changed by who holds CAP_SETPCAP; without it, no_new_privs is what
 * keeps execve() from giving anything.
 */
static void drop_bounding(void)
{
	for (cap_value_t c = 0; c < cap_max_bits(); c++)
		if (cap_get_bound(c) == 1 && cap_drop_bound(c))
			return;
}

/* Drops all but WANTED, which then has those of them that are held. */
static int drop(uint64_t *wanted)
{
	cap_t caps = cap_get_proc(), less = cap_init();
	int err = caps && less ? 0 : -1;

	if (!err) {
		*wanted &= held(caps, CAP_PERMITTED);
		drop_bounding();
		cap_reset_ambient(); /* kernels before 4.3 have none */
		err = set(less, CAP_PERMITTED, *wanted, CAP_SET) ?:
		      set(less, CAP_EFFECTIVE, *wanted, CAP_SET) ?:
		      cap_set_proc(less);
	}
	err = err ? -errno : 0;
	cap_free(caps);
	cap_free(less);
	return err;
}

static void add(char *text, size_t size, const char *before, const char *more)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s%s", n ? before : "", more);
}

/* "keeps bpf(2) to read maps for reports; CAP_SYS_PTRACE for names of user stacks" */
static void tell(uint64_t kept, bool filtered)
{
	char text[768] = "", one[256];
	const struct plumb_kept *list;
	pid_t to;
	size_t n;

	list = plumb_kept(&n, &to);
	for (size_t i = 0; i < n; i++) {
		*one = 0;
		plumb_capability_names(list[i].capabilities & kept, false, one, sizeof(one));
		plumb_calls_name(list[i].calls, one, sizeof(one));
		if (!*one)
			continue;
		add(text, sizeof(text), "; ", one);
		add(text, sizeof(text), " for ", list[i].why);
	}
	plumb_info("confined: keeps %s%s%s%s", kept ? "" : "no capability",
		   kept || !*text ? "" : "; ", text,
		   filtered ? "" : "; all system calls, since this kernel has no seccomp filters");
}

/*
 * Without capabilities, processes of the same user could attach to this one and take the file
 * descriptors of its maps and programs.  If a file gave the capabilities, execve() has seen to it;
 * a parent may have given them, too.
 */
static int give_up(uint64_t *kept)
{
	int err = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			  ? -errno
			  : drop(kept);

	return err ? plumb_error(err, "cannot drop capabilities: %s", strerror(-err)) : 0;
}

int plumb_give_up(uint64_t kept)
{
	char names[256] = "";
	int err = give_up(&kept);

	if (!err)
		plumb_info("keeps %s while it measures",
			   plumb_capability_names(kept, false, names, sizeof(names)));
	return err;
}

int plumb_confine(void)
{
	const struct plumb_kept *list;
	unsigned int calls = 0;
	uint64_t kept = 0;
	pid_t signalled;
	size_t n;
	int err;

	list = plumb_kept(&n, &signalled);
	for (size_t i = 0; i < n; i++) {
		kept |= list[i].capabilities;
		calls |= list[i].calls;
	}
	err = give_up(&kept);
	if (err)
		return err;
	err = plumb_calls_filter(calls, signalled);
	if (err < 0)
		return plumb_error(err, "cannot filter its own system calls: %s", strerror(-err));
	tell(kept, !err);
	return 0;
}
