/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/functions/lists.h>

static bool is_namesake(const struct plumb_traceability *a, const struct plumb_traceability *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->module ?: "", b->module ?: "");
}

int plumb_functions_of(const struct plumb_traceability *all, size_t n, const struct btf *btf,
		       struct plumb_functions *found)
{
	int err = 0;

	*found = (struct plumb_functions){};
	for (size_t i = 0; i < n; i++)
		*plumb_append(found->all, found->n) = (struct plumb_function){
			.name = plumb_copied(all[i].name),
			.module = all[i].module ? plumb_copied(all[i].module) : NULL,
			.address = all[i].address,
			.changed = all[i].changed,
			.cold = all[i].cold,
			.ambiguous = (i && is_namesake(&all[i], &all[i - 1])) ||
				     (i + 1 < n && is_namesake(&all[i], &all[i + 1])),
			.untraced = all[i].untraced,
			.blacklisted = all[i].blacklisted,
		};
	if (btf)
		plumb_prototypes_from(found, btf);
	else
		err = plumb_prototypes_read(found, NULL);
	if (err)
		plumb_functions_free(found);
	return err;
}

void plumb_functions_free(struct plumb_functions *found)
{
	for (size_t i = 0; i < found->n; i++) {
		free(found->all[i].name);
		free(found->all[i].module);
	}
	free(found->all);
	plumb_prototypes_free(found);
	*found = (struct plumb_functions){};
}

static bool ftrace_may_know(const char *name)
{
	struct plumb_names names;
	bool may;

	plumb_traceable_read(&names);
	may = !names.slots || plumb_names_have(&names, name);
	plumb_names_free(&names);
	return may;
}

const char *plumb_function_obstacle(const struct plumb_function *f)
{
	if (f->blacklisted)
		return "is on the kernel's kprobe blacklist";
	if (f->untraced || (f->unchecked && !ftrace_may_know(f->name)))
		return "is marked notrace, or was compiled without an ftrace call";
	return NULL;
}
