/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/keys.h"
#include <stdlib.h>

static const char *const known[] = {
	"host",    "pid",   "tid",       "comm",  "process", "cgroup",    "cpu",
	"syscall", "errno", "func",      "ret",   "caller",  "file",      "path",
	"fs",      "mount", "op",        "disk",  "part",    "flags",     "size",
	"stage",   "event", "cache",     "asked", "given",   "node",      "context",
	"state",   "waker", "type",      "kind",  "area",    "raddr",     "rport",
	"laddr",   "lport", "container", "netns", "label",   "cgroup_id",
};

#define N_KNOWN (sizeof(known) / sizeof(known[0]))

bool keys_known(const char *name)
{
	if (!strcmp(name, "none"))
		return true;
	for (size_t i = 0; i < N_KNOWN; i++)
		if (!strcmp(name, known[i]))
			return true;
	/* Arguments have any name. */
	name += strncmp(name, "done.", 5) ? 0 : 5;
	return !strncmp(name, "arg:", 4) && name[4];
}

void keys_list(FILE *out)
{
	for (size_t i = 0; i < N_KNOWN; i++)
		fprintf(out, "%s%s", i ? " " : "", known[i]);
	fputc('\n', out);
}

/* A key of plumb/2 has no lists and objects in it. */
static bool is_flat(json_t *key)
{
	const char *name;
	json_t *value;

	json_object_foreach(key, name,
			    value) if (json_is_array(value) || json_is_object(value)) return false;
	return true;
}

static json_t *host_of(const struct line *l, json_t *key)
{
	json_t *host = json_object_get(key, "host");
	char *name;

	/* Rows by host that hist-merge printed have it. */
	if (host)
		return json_incref(host);
	if (l->n_hosts > 1)
		return NULL;
	name = scan_text(l->n_hosts ? l->hosts[0].name : l->host);
	host = json_string(name);
	free(name);
	return host;
}

static json_t *reduced(const struct merge *m, const struct line *l, json_t *key, const char **error)
{
	static char missing[96];
	json_t *kept = json_object(), *value;

	for (size_t i = 0; i < m->n_by; i++) {
		value = strcmp(m->by[i], "host") ? json_incref(json_object_get(key, m->by[i]))
						 : host_of(l, key);
		if (value) {
			json_object_set_new(kept, m->by[i], value);
			continue;
		}
		snprintf(missing, sizeof(missing), "its rows have no key %s (--by)", m->by[i]);
		*error = missing;
		json_decref(kept);
		return NULL;
	}
	return kept;
}

char *keys_of(const struct merge *m, const struct line *l, struct span key, const char **error)
{
	json_t *object = json_loadb(key.text, key.n, JSON_REJECT_DUPLICATES, NULL), *kept;
	char *text = NULL;

	if (!object || !is_flat(object)) {
		*error = "a key with a member that is there twice, is no scalar, or has a NUL";
		json_decref(object);
		return NULL;
	}
	/* Of pooled calls nothing is known. */
	if (json_is_true(json_object_get(object, "other")) || (!m->n_by && !m->one)) {
		text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	} else if ((kept = reduced(m, l, object, error))) {
		text = json_dumps(kept, JSON_COMPACT | JSON_SORT_KEYS);
		json_decref(kept);
	}
	json_decref(object);
	if (!text && !*error)
		abort();
	return text;
}
