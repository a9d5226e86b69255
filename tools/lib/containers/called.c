/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <plumb/containers/names.h>

#include "containers.h"

static void name_pod(const char *root, const struct plumb_place *place, char *text, size_t size)
{
	if (!*place->pod)
		snprintf(text, size, "-");
	else if (!place->has_uid)
		snprintf(text, size, "%.*s", PLUMB_CONTAINER_SHORT, place->pod);
	else if (!plumb_pod_name(root, place->pod, text, size))
		snprintf(text, size, "%s", place->pod);
}

void containers_name(const char *root, const struct plumb_place *place,
		     struct containers_names *names)
{
	char own[NAME_MAX + 1];

	name_pod(root, place, names->pod, sizeof(names->pod));
	if (!plumb_place_has_container(place)) {
		strcpy(names->container, "-");
		return;
	}
	if (*place->name)
		strcpy(own, place->name);
	else if (!plumb_container_name(root, place->id, own, sizeof(own)))
		snprintf(own, sizeof(own), "%.*s", PLUMB_CONTAINER_SHORT, place->id);
	/* Many pods have a container of that name; where the pod has no name, its id is unique. */
	if (place->of_pod && place->has_uid)
		snprintf(names->container, sizeof(names->container), "%.*s/%s",
			 (int)(sizeof(names->container) - sizeof(own) - 1), names->pod, own);
	else
		strcpy(names->container, own);
}

/* An id, or as much of its beginning as is printed. */
static bool is_id(const char *text, const char *id)
{
	const size_t n = strlen(text);

	return n >= PLUMB_CONTAINER_SHORT && !strncmp(text, id, n);
}

bool containers_is_container(const char *text, const struct plumb_place *place,
			     const struct containers_names *names)
{
	const char *own = strrchr(names->container, '/');

	if (!plumb_place_has_container(place))
		return false;
	return !strcmp(text, names->container) || (own && !strcmp(text, own + 1)) ||
	       is_id(text, place->id);
}

bool containers_is_pod(const char *text, const struct plumb_place *place,
		       const struct containers_names *names)
{
	if (!*place->pod)
		return false;
	return !strcmp(text, names->pod) || (!place->has_uid && is_id(text, place->pod)) ||
	       !strcmp(text, place->pod);
}
