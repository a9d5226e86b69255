/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/options.h>
#include <plumb/kernel/cgroup.h>

#include "containers.h"

static const char of_container[] = "container:", of_pod[] = "pod:";

/* What is looked for, and the cgroups that are it. */
struct search {
	const char *text;
	bool pod;
	size_t prefix; /* the length of where cgroup2 is mounted */
	char **found;
	size_t n;
};

/* Whether the cgroup at PATH is what is looked for; the one above it, in the place ABOVE, is not.
 */
static bool is_it(const struct search *s, const char *path, const struct plumb_place *above,
		  struct plumb_place *place)
{
	struct containers_names names;

	*place = plumb_place_of(path + s->prefix);
	if (!strcmp(place->id, above->id) && !strcmp(place->name, above->name) &&
	    !strcmp(place->pod, above->pod))
		return false;
	containers_name("", place, &names);
	return s->pod ? containers_is_pod(s->text, place, &names)
		      : containers_is_container(s->text, place, &names);
}

/* Goes down the hierarchy; below a cgroup that is it there is nothing else to be found. */
static void visit(struct search *s, int parent, const char *name, const char *path,
		  const struct plumb_place *above)
{
	const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct plumb_place place;
	struct dirent *entry;
	char *below;

	if (fd >= 0 && !d)
		close(fd);
	while (d && (entry = readdir(d))) {
		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		below = plumb_text("%s/%s", path, entry->d_name);
		if (is_it(s, below, above, &place)) {
			*plumb_append(s->found, s->n) = below;
			continue;
		}
		visit(s, dirfd(d), entry->d_name, below, &place);
		free(below);
	}
	if (d)
		closedir(d);
}

/* Adds the cgroups that ITEM means, to LIST; 0, or -errno after a message. */
static int add(const char *item, char **list, uint32_t *n)
{
	struct search s = {.text = strchr(item, ':') + 1, .pod = *item == 'p'};
	const char *mount = plumb_cgroup_mount();

	if (!mount || !*mount)
		return plumb_error(ENOENT, "--cgroup %s: no cgroup2 file system is mounted", item);
	s.prefix = strlen(mount);
	visit(&s, AT_FDCWD, mount, mount, &(struct plumb_place){});
	if (!s.n)
		return plumb_error(ESRCH, "--cgroup %s: no cgroup of such a %s%s", item,
				   s.pod ? "pod" : "container",
				   s.pod ? "; NAMESPACE/NAME or its UID" : "");
	if (*n + s.n > PLUMB_MAX_LIST)
		return plumb_error(E2BIG, "--cgroup %s: more than %d cgroups", item,
				   PLUMB_MAX_LIST);
	for (size_t i = 0; i < s.n; i++) {
		plumb_info("%s is %s", item, s.found[i]);
		list[(*n)++] = s.found[i];
	}
	free(s.found);
	return 0;
}

int containers_find(struct plumb_options *o)
{
	char *list[PLUMB_MAX_LIST];
	uint32_t n = 0;
	int err = 0;

	for (uint32_t i = 0; i < o->n_cgroups && !err; i++) {
		if (!strncmp(o->cgroups[i], of_container, strlen(of_container)) ||
		    !strncmp(o->cgroups[i], of_pod, strlen(of_pod)))
			err = add(o->cgroups[i], list, &n);
		else if (n == PLUMB_MAX_LIST)
			err = plumb_error(E2BIG, "--cgroup: more than %d cgroups", PLUMB_MAX_LIST);
		else
			list[n++] = o->cgroups[i];
	}
	if (err)
		return err;
	memcpy(o->cgroups, list, n * sizeof(*list));
	o->n_cgroups = n;
	return 0;
}
