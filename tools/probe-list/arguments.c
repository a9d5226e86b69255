/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "arguments.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/functions/formats.h>
#include <plumb/user/usdt-arguments.h>

#include <bpf/btf.h>

struct argument {
	char *name, *type, *declaration;
};

struct signature {
	char *returns; /* NULL: nothing, or it is not known */
	struct argument *list;
	size_t n;
	bool known;
};

static void free_signature(struct signature *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->list[i].name);
		free(s->list[i].type);
		free(s->list[i].declaration);
	}
	free(s->list);
	free(s->returns);
}

/* Copy the strings.  Without memory for one, the signature is not known. */
static void add(struct signature *s, const char *name, const char *type, const char *declaration)
{
	struct argument *list = reallocarray(s->list, s->n + 1, sizeof(*list));

	if (!list) {
		s->known = false;
		return;
	}
	s->list = list;
	list[s->n] = (struct argument){strdup(name), strdup(type), strdup(declaration)};
	if (!list[s->n].name || !list[s->n].type || !list[s->n].declaration)
		s->known = false;
	s->n++;
}

/* --- events --- */

/* Return true for the event's own fields, but not for a call's number, which its name gives. */
static bool is_argument(const struct plumb_format_field *f)
{
	return !f->is_common && strcmp(f->name, "__syscall_nr");
}

static void read_format(int tracefs, const struct plumb_tracepoint *t, struct signature *s)
{
	struct plumb_format format;

	s->known = t && !plumb_format_read(tracefs, t->category, t->name, &format);
	if (!s->known)
		return;
	for (size_t i = 0; i < format.n; i++) {
		const struct plumb_format_field *f = &format.fields[i];

		if (is_argument(f))
			add(s, f->name, f->type, f->declaration);
	}
	plumb_format_free(&format);
}

static void read_call(int tracefs, const struct target *call, struct signature *s)
{
	struct signature at_exit = {};

	read_format(tracefs, call->events[0], s);
	read_format(tracefs, call->events[1], &at_exit);
	if (at_exit.n)
		s->returns = strdup(at_exit.list[0].type);
	free_signature(&at_exit);
}

/* --- BTF --- */

/* A "..." has type 0. */
static void add_parameter(struct plumb_declarer *d, const struct btf *btf,
			  const struct btf_param *param, struct signature *s)
{
	const char *name = btf__name_by_offset(btf, param->name_off) ?: "", *text;
	char *type;

	if (!param->type) {
		add(s, "", "...", "...");
		return;
	}
	text = plumb_declare(d, btf, param->type, "");
	type = text ? strdup(text) : NULL;
	text = plumb_declare(d, btf, param->type, name);
	if (type && text)
		add(s, name, type, text);
	else
		s->known = false;
	free(type);
}

static void read_prototype(struct plumb_declarer *d, const struct btf *btf, uint32_t id,
			   uint32_t first, struct signature *s)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	const char *returns;

	s->known = t && btf_is_func_proto(t);
	if (!s->known)
		return;
	for (uint32_t i = first; i < btf_vlen(t); i++)
		add_parameter(d, btf, &btf_params(t)[i], s);
	returns = plumb_declare(d, btf, t->type, "");
	s->returns = returns ? strdup(returns) : NULL;
}

static void read_signature(struct targets *p, const struct target *target, struct signature *s)
{
	const struct plumb_function *f = target->function;

	*s = (struct signature){};
	switch (target->kind) {
	case SYSCALL:
		read_call(p->tracefs, target, s);
		break;
	case TRACEPOINT:
		read_format(p->tracefs, target->events[0], s);
		break;
	case RAW_TRACEPOINT: /* the first one is void *__data */
		if (target->prototype)
			read_prototype(&p->declarer, target->btf, target->prototype, 1, s);
		free(s->returns);
		s->returns = NULL;
		break;
	case FUNCTION:
		if (f->btf)
			read_prototype(&p->declarer, f->btf,
				       btf__type_by_id(f->btf, f->btf_id)->type, 0, s);
		break;
	default:
		break;
	}
}

/* --- as text --- */

/* Its name as it stands in a declaration: without prefix, category and module. */
static const char *short_name(const struct target *target)
{
	return strrchr(target->name, ':') + 1;
}

static const char *obstacle_of(const struct target *target)
{
	const struct plumb_function *f = target->function;

	if (!f)
		return target->kind == USER_FUNCTION ? "symbols have no types"
						     : "the kernel does not say";
	return f->changed     ? "the compiler changed its signature"
	       : f->ambiguous ? "several functions have this name"
			      : "no BTF describes it";
}

/* Types are written alike for all processors; the operands, which are not, are not used. */
static int read_types(const struct plumb_usdt_place *place,
		      struct plumb_usdt_argument list[PLUMB_USDT_ARGS])
{
	return plumb_usdt_arguments(place->arguments, EM_NONE, list);
}

/* "int32, uint64"; "" if there are none.  NULL without memory. */
static char *types_text(const struct plumb_usdt_place *place)
{
	struct plumb_usdt_argument list[PLUMB_USDT_ARGS];
	const int n = read_types(place, list);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (n < 0)
		fputs("?", out);
	for (int i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ", " : "", list[i].type ?: "?");
	fclose(out);
	return text;
}

static void print_usdt(const struct plumb_userfunc *u, FILE *out)
{
	char *before = NULL, *types;

	for (size_t i = 0; i < u->n_places; i++) {
		const char *arguments = u->places[i].arguments;

		if (i && !strcmp(arguments, u->places[i - 1].arguments))
			continue;
		types = types_text(&u->places[i]);
		if (before && types && !strcmp(types, before))
			fprintf(out, ", %s", *arguments ? arguments : "no arguments");
		else
			fprintf(out, "%s%s(%s): %s", i ? "; " : "", strchr(u->name, ':') + 1,
				types ?: "?", *arguments ? arguments : "no arguments");
		free(before);
		before = types;
	}
	free(before);
}

static void print_signature(const struct signature *s, const struct target *target, FILE *out)
{
	size_t n = s->returns ? strlen(s->returns) : 0;

	if (!s->known) {
		fprintf(out, "arguments not known: %s", obstacle_of(target));
		return;
	}
	if (n)
		fprintf(out, "%s%s", s->returns, s->returns[n - 1] == '*' ? "" : " ");
	fprintf(out, "%s(", short_name(target));
	for (size_t i = 0; i < s->n; i++)
		fprintf(out, "%s%s", i ? ", " : "", s->list[i].declaration);
	fputc(')', out);
}

char *arguments_text(struct targets *p, const struct target *target)
{
	const char *prototype = NULL;
	struct signature s;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (target->kind == FUNCTION)
		prototype = plumb_function_prototype(&p->declarer, target->function);
	if (prototype)
		return strdup(prototype);
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	if (target->usdt) {
		print_usdt(target->usdt, out);
	} else {
		read_signature(p, target, &s);
		print_signature(&s, target, out);
		free_signature(&s);
	}
	fclose(out);
	return text;
}

/* --- as JSON --- */

static json_t *types_json(const struct plumb_usdt_place *place)
{
	struct plumb_usdt_argument list[PLUMB_USDT_ARGS];
	const int n = read_types(place, list);
	json_t *all = n < 0 ? json_null() : json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(all,
				      list[i].type ? plumb_json_text(list[i].type) : json_null());
	return all;
}

static json_t *places_json(const struct plumb_userfunc *u)
{
	json_t *all = json_array();

	for (size_t i = 0; i < u->n_places; i++) {
		const struct plumb_usdt_place *place = &u->places[i];

		json_array_append_new(all, json_pack("{s:o, s:o, s:o, s:o}", "offset",
						     plumb_json_u64(place->offset), "semaphore",
						     plumb_json_u64(place->semaphore), "arguments",
						     plumb_json_text(place->arguments), "types",
						     types_json(place)));
	}
	return all;
}

static json_t *list_json(const struct signature *s)
{
	json_t *all = json_array();

	for (const struct argument *a = s->list; a < s->list + s->n; a++)
		json_array_append_new(all, json_pack("{s:o, s:o}", "name", plumb_json_text(a->name),
						     "type", plumb_json_text(a->type)));
	return all;
}

void arguments_json(struct targets *p, const struct target *target, json_t *to)
{
	struct signature s;

	if (target->usdt) {
		json_object_set_new(to, "places", places_json(target->usdt));
		return;
	}
	read_signature(p, target, &s);
	json_object_set_new(to, "arguments", s.known ? list_json(&s) : json_null());
	json_object_set_new(to, "returns", s.returns ? plumb_json_text(s.returns) : json_null());
	free_signature(&s);
}
