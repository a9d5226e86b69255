/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/functions/declare.h>
#include <plumb/functions/functions.h>

#include <bpf/btf.h>

/* Maximum number of types in a declaration: those in a file may form a cycle. */
#define MOST_TYPES 256

/* One BTF: libbpf's dumper of it, NULL if it is invalid, and the last declaration. */
struct plumb_declared {
	const struct btf *btf;
	struct btf_dump *dump;
	char *text;
	size_t length, room;
	bool failed;
};

static void print(void *context, const char *format, va_list args)
{
	struct plumb_declared *d = context;
	char *part = NULL, *more;
	int n = vasprintf(&part, format, args);

	if (n >= 0 && d->length + n >= d->room) {
		more = realloc(d->text, d->room + n + 256);
		if (more) {
			d->text = more;
			d->room += n + 256;
		} else {
			n = -1;
		}
	}
	if (n >= 0) {
		memcpy(d->text + d->length, part, n + 1);
		d->length += n;
	} else {
		d->failed = true;
	}
	free(part);
}

/* --- validation, which libbpf lacks before 1.3 --- */

static bool has_name(const struct btf *btf, uint32_t offset)
{
	return btf__name_by_offset(btf, offset);
}

static bool members_exist(const struct btf *btf, const struct btf_type *t)
{
	for (int i = 0; i < btf_vlen(t); i++)
		if (btf_members(t)[i].type >= btf__type_cnt(btf))
			return false;
	return true;
}

static bool parameters_exist(const struct btf *btf, const struct btf_type *t)
{
	for (int i = 0; i < btf_vlen(t); i++)
		if (btf_params(t)[i].type >= btf__type_cnt(btf))
			return false;
	return true;
}

/* Whether all types that T refers to exist. */
static bool references_exist(const struct btf *btf, const struct btf_type *t)
{
	uint32_t n = btf__type_cnt(btf);

	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return members_exist(btf, t);
	case BTF_KIND_FUNC_PROTO:
		return t->type < n && parameters_exist(btf, t);
	case BTF_KIND_ARRAY:
		return btf_array(t)->type < n && btf_array(t)->index_type < n;
	case BTF_KIND_DATASEC:
		for (int i = 0; i < btf_vlen(t); i++)
			if (btf_var_secinfos(t)[i].type >= n)
				return false;
		return true;
	case BTF_KIND_INT:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FLOAT:
	case BTF_KIND_FWD: /* does not use the field for a type or size */
		return true;
	default:
		return t->type < n;
	}
}

static bool makes_sense(const struct btf *btf)
{
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++)
		if (!references_exist(btf, btf__type_by_id(btf, id)))
			return false;
	return true;
}

/*
 * Whether a declaration of type ID consists of at most *LEFT types, and contains no definition.
 * Structs, unions and enums without a name would have to be defined in it.
 */
static bool can_be_declared(const struct btf *btf, uint32_t id, unsigned int *left)
{
	const struct btf_type *t;

	while (id) {
		t = btf__type_by_id(btf, id);
		if (!*left || !t || !has_name(btf, t->name_off))
			return false;
		--*left;
		switch (btf_kind(t)) {
		case BTF_KIND_PTR:
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			id = t->type;
			break;
		case BTF_KIND_ARRAY:
			id = btf_array(t)->type;
			break;
		case BTF_KIND_FUNC_PROTO:
			for (int i = 0; i < btf_vlen(t); i++)
				if (!has_name(btf, btf_params(t)[i].name_off) ||
				    !can_be_declared(btf, btf_params(t)[i].type, left))
					return false;
			id = t->type;
			break;
		case BTF_KIND_FUNC:
		case BTF_KIND_VAR:
		case BTF_KIND_DATASEC:
		case BTF_KIND_DECL_TAG:
			return false;
		default:
			return t->name_off;
		}
	}
	return true;
}

/* --- */

static struct plumb_declared *find(struct plumb_declarer *d, const struct btf *btf)
{
	struct plumb_declared *one, **all;

	/* The last one is used most. */
	for (size_t i = d->n; i-- > 0;)
		if (d->all[i]->btf == btf)
			return d->all[i];
	all = realloc(d->all, (d->n + 1) * sizeof(*all));
	if (!all)
		return NULL;
	d->all = all;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->btf = btf;
	if (makes_sense(btf))
		one->dump = btf_dump__new(btf, print, one, NULL);
	d->all[d->n++] = one;
	return one;
}

/* Removes the numbers by which libbpf distinguishes types of the same name: "foo___2". */
static void drop_numbers(char *text)
{
	char *from = text, *to = text;
	size_t n;

	while (*from) {
		n = strncmp(from, "___", 3) ? 0 : strspn(from + 3, "0123456789");
		if (n && !isalnum((unsigned char)from[3 + n]) && from[3 + n] != '_')
			from += 3 + n;
		else
			*to++ = *from++;
	}
	*to = 0;
}

const char *plumb_declare(struct plumb_declarer *d, const struct btf *btf, uint32_t id,
			  const char *name)
{
	LIBBPF_OPTS(btf_dump_emit_type_decl_opts, opts, .field_name = name);
	struct plumb_declared *one = find(d, btf);
	unsigned int left = MOST_TYPES;

	if (!one || !one->dump || !can_be_declared(btf, id, &left))
		return NULL;
	one->length = 0;
	one->failed = false;
	if (btf_dump__emit_type_decl(one->dump, id, &opts) || one->failed || !one->text)
		return NULL;
	drop_numbers(one->text);
	return one->text;
}

const char *plumb_function_prototype(struct plumb_declarer *d, const struct plumb_function *f)
{
	const struct btf_type *t = f->btf ? btf__type_by_id(f->btf, f->btf_id) : NULL;

	return t ? plumb_declare(d, f->btf, t->type, f->name) : NULL;
}

void plumb_declarer_free(struct plumb_declarer *d)
{
	for (size_t i = 0; i < d->n; i++) {
		btf_dump__free(d->all[i]->dump);
		free(d->all[i]->text);
		free(d->all[i]);
	}
	free(d->all);
	*d = (struct plumb_declarer){};
}
