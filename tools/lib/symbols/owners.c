/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/symbols/owners.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/parse.h>

static void add(struct plumb_owners *owners, uid_t uid)
{
	if (owners->n < sizeof(owners->uids) / sizeof(owners->uids[0]) &&
	    !plumb_owners_have(owners, uid))
		owners->uids[owners->n++] = uid;
}

/*
 * The real, effective, saved and file system user: a set-user-ID program has several.  The numbers
 * are those of the tool's user namespace, as fstat() gives them.
 */
static int add_users(pid_t pid, struct plumb_owners *owners)
{
	unsigned int uids[4];
	char path[64], *line = NULL, *last;
	size_t room = 0;
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return -ESRCH;
	while (getline(&line, &room, f) >= 0) {
		if (sscanf(line, "Uid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) == 4) {
			found |= 1;
			for (size_t i = 0; i < 4; i++)
				add(owners, uids[i]);
		}
		last = strncmp(line, "NSpid:", 6) ? NULL : strrchr(line, '\t');
		if (last && sscanf(last, "%u", &owners->pid) == 1)
			found |= 2;
	}
	free(line);
	fclose(f);
	return found == 3 ? 0 : -ESRCH;
}

/*
 * The root of another user namespace.  The kernel tells what its uid 0 is in the tool's; of the
 * tool's own namespace, what it is in the parent, which is of no use here.
 */
static void add_namespace_root(pid_t pid, struct plumb_owners *owners)
{
	unsigned int inside, outside, n;
	struct stat its, ours;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (stat(path, &its) || stat("/proc/self/ns/user", &ours) || its.st_ino == ours.st_ino)
		return;
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%u %u %u", &inside, &outside, &n) == 3)
		if (!inside && n)
			add(owners, outside);
	if (f)
		fclose(f);
}

/* Who runs the tool; for root, also who became root by logging in or by sudo. */
static void add_operator(struct plumb_owners *owners)
{
	const char *sudo = getuid() ? NULL : getenv("SUDO_UID");
	FILE *f = getuid() ? NULL : fopen("/proc/self/loginuid", "re");
	unsigned int login;
	uint64_t uid;

	add(owners, getuid());
	if (f && fscanf(f, "%u", &login) == 1 && login != UINT32_MAX)
		add(owners, login);
	else if (sudo && !plumb_parse_u64(sudo, 0, UINT32_MAX - 1, &uid))
		add(owners, uid);
	if (f)
		fclose(f);
}

int plumb_owners_of(pid_t pid, struct plumb_owners *owners)
{
	int err;

	*owners = (struct plumb_owners){};
	add(owners, 0);
	err = add_users(pid, owners);
	if (err)
		return err;
	add_namespace_root(pid, owners);
	add_operator(owners);
	return 0;
}

bool plumb_owners_have(const struct plumb_owners *owners, uid_t uid)
{
	for (size_t i = 0; i < owners->n; i++)
		if (owners->uids[i] == uid)
			return true;
	return false;
}

char *plumb_owner_text(pid_t pid, uid_t uid, char *text, size_t size)
{
	snprintf(text, size, "belongs to uid %u, which is neither the user of process %d nor root",
		 uid, pid);
	return text;
}

bool plumb_owner_is_known(pid_t pid, uid_t uid, char *why, size_t size)
{
	struct plumb_owners owners;
	int err = plumb_owners_of(pid, &owners);

	if (!err && plumb_owners_have(&owners, uid))
		return true;
	if (err)
		snprintf(why, size, "process %d has ended", pid);
	else
		plumb_owner_text(pid, uid, why, size);
	return false;
}
