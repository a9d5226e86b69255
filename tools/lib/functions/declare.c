/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/functions/declare.h>
#include <plumb/functions/functions.h>

#include <bpf/btf.h>

/* Maximum number of types in a declaration: those in a file may form a cycle. */
#define MOST_TYPES 256

/* One BTF: libbpf's dumper of it, NULL if it is invalid, and the last declaration. */
struct plumb_declared {
	const struct btf *btf;
	struct btf_dump *dump;
	FILE *out;
	char *text;
	size_t length;
};

static void print(void *context, const char *format, va_list args)
{
	vfprintf(((struct plumb_declared *)context)->out, format, args);
}

/* --- validation, which libbpf lacks before 1.3 --- */

static bool has_name(const struct btf *btf, uint32_t offset)
{
	return btf__name_by_offset(btf, offset);
}

/* The types of members, of parameters or of variables. */
static bool items_exist(const struct btf *btf, const struct btf_type *t)
{
	for (int i = 0; i < btf_vlen(t); i++) {
		const __u32 id = btf_is_composite(t)    ? btf_members(t)[i].type
				 : btf_is_func_proto(t) ? btf_params(t)[i].type
							: btf_var_secinfos(t)[i].type;

		if (id >= btf__type_cnt(btf))
			return false;
	}
	return true;
}

/* Whether all types that T refers to exist. */
static bool references_exist(const struct btf *btf, const struct btf_type *t)
{
	uint32_t n = btf__type_cnt(btf);

	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
		return items_exist(btf, t);
	case BTF_KIND_FUNC_PROTO:
		return t->type < n && items_exist(btf, t);
	case BTF_KIND_ARRAY:
		return btf_array(t)->type < n && btf_array(t)->index_type < n;
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
	struct plumb_declared *one;

	/* The last one is used most. */
	for (size_t i = d->n; i-- > 0;)
		if (d->all[i]->btf == btf)
			return d->all[i];
	*plumb_append(d->all, d->n) = one = plumb_zeroed(1, sizeof(*one));
	one->btf = btf;
	one->out = plumb_required(open_memstream(&one->text, &one->length));
	if (makes_sense(btf))
		one->dump = btf_dump__new(btf, print, one, NULL);
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

	if (!one->dump || !can_be_declared(btf, id, &left))
		return NULL;
	rewind(one->out);
	if (btf_dump__emit_type_decl(one->dump, id, &opts) || fputc(0, one->out) ||
	    fflush(one->out))
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
		fclose(d->all[i]->out);
		free(d->all[i]->text);
		free(d->all[i]);
	}
	free(d->all);
	*d = (struct plumb_declarer){};
}
