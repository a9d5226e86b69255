/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/keys.h"
#include "reading/memory.h"

static const char *const known[] = {
	"host",      "pid",    "tid",         "comm",      "process",    "cgroup",  "cpu",
	"syscall",   "errno",  "fd",          "func",      "ret",        "caller",  "file",
	"path",      "fs",     "mount",       "op",        "disk",       "part",    "flags",
	"size",      "stage",  "event",       "cache",     "asked",      "given",   "node",
	"context",   "state",  "waker",       "type",      "kind",       "area",    "raddr",
	"rport",     "laddr",  "lport",       "container", "pod",        "netns",   "label",
	"cgroup_id", "start",  "lock",        "owner",     "owner-call", "handler", "phase",
	"status",    "parent", "order",       "gfp",       "drop",       "result",  "listener",
	"word",      "stack",  "waker-stack", "arguments", "asleep",     "server",
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
static json_t *parse(struct span text, uint64_t *names, const char **error)
{
	json_error_t e;
	json_t *key = json_loadb(text.text, text.n, JSON_REJECT_DUPLICATES, &e), *value;
	const char *name;

	if (!key)
		*error = json_error_code(&e) == json_error_duplicate_key
				 ? "a key with a member that is there twice"
				 : "a key with a NUL";
	*names = 1;
	json_object_foreach(key, name, value)
	{
		if (json_is_array(value) || json_is_object(value))
			*error = "a key with a member that is no scalar";
		/* They may be in any order. */
		*names += span_hash((struct span){name, strlen(name)}, SPAN_HASH);
	}
	return key;
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

static json_t *reduced(const struct merge_by *by, const struct line *l, json_t *key,
		       const char **error)
{
	static char missing[96];
	json_t *kept = json_object(), *value;

	for (size_t i = 0; i < by->n; i++) {
		value = strcmp(by->keys[i], "host") ? json_incref(json_object_get(key, by->keys[i]))
						    : host_of(l, key);
		if (!value) {
			snprintf(missing, sizeof(missing), "its rows have no key %s (--by)",
				 by->keys[i]);
			*error = missing;
		}
		json_object_set_new(kept, by->keys[i], value);
	}
	return kept;
}

char *keys_of(const struct merge_by *by, const struct line *l, struct span key, uint64_t *names,
	      const char **error)
{
	json_t *object = parse(key, names, error), *kept = object;
	char *text = NULL;

	/* Of pooled calls nothing is known. */
	if (json_is_true(json_object_get(object, "other")))
		*names = 0;
	else if (!*error && (by->n || by->none))
		kept = reduced(by, l, object, error);
	if (!*error)
		text = get(json_dumps(kept, JSON_COMPACT | JSON_SORT_KEYS));
	if (kept != object)
		json_decref(kept);
	json_decref(object);
	return text;
}
