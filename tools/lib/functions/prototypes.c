/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* prototypes: the prototypes of functions, from BTF, and their arguments. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/file.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/parse.h>
#include <plumb/functions/lists.h>
#include <plumb/kernel/types.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#define KERNEL_BTF "/sys/kernel/btf/"

struct plumb_module_btf {
	char *name;
	struct btf *btf; /* NULL: there is none */
	int fd;          /* -1: not available */
};

/* A function, and the number of types found for it. */
struct sought {
	struct plumb_function *function;
	size_t length; /* of its name in BTF, which has no suffix */
	uint32_t types;
};

static int compare(const void *a, const void *b)
{
	const struct sought *s = a, *t = b;
	size_t shorter = s->length < t->length ? s->length : t->length;
	int order = memcmp(s->function->name, t->function->name, shorter);

	return order ?: (s->length > t->length) - (s->length < t->length);
}

static bool is_of_module(const struct plumb_function *f, const char *module)
{
	return module ? f->module && !strcmp(f->module, module) : !f->module;
}

/*
 * Returns the functions of MODULE whose prototype can be found in BTF, sorted by name.  Functions
 * of the same name are excluded: BTF has no addresses, and describes one of them or none.
 */
static struct sought *seek(const struct plumb_functions *fs, const char *module, size_t *n)
{
	struct sought *all = plumb_zeroed(fs->n, sizeof(*all));
	struct plumb_function *f;

	*n = 0;
	for (f = fs->all; f < fs->all + fs->n; f++)
		if (!f->changed && !f->cold && !f->ambiguous && is_of_module(f, module))
			all[(*n)++] = (struct sought){f, strcspn(f->name, "."), 0};
	if (*n)
		qsort(all, *n, sizeof(*all), compare);
	return all;
}

static struct sought *find(struct sought *all, size_t n, const char *name)
{
	struct plumb_function f = {.name = (char *)name};
	struct sought key = {&f, strlen(name), 0};

	return bsearch(&key, all, n, sizeof(*all), compare);
}

static const struct btf_type *resolve(const struct btf *btf, uint32_t id)
{
	int resolved = btf__resolve_type(btf, id);

	return resolved < 0 ? NULL : btf__type_by_id(btf, resolved);
}

static const char *name_at(const struct btf *btf, uint32_t offset)
{
	return btf__name_by_offset(btf, offset) ?: "";
}

/* Whether function type T has a prototype; libbpf 1.1 does not validate BTF. */
static bool has_prototype(const struct btf *btf, const struct btf_type *t)
{
	const struct btf_type *proto = btf__type_by_id(btf, t->type);

	return proto && btf_is_func_proto(proto);
}

static const struct btf_type *prototype(const struct plumb_function *f)
{
	return btf__type_by_id(f->btf, btf__type_by_id(f->btf, f->btf_id)->type);
}

static bool is_signed(const struct btf_type *t)
{
	return btf_is_int(t) ? btf_int_encoding(t) & BTF_INT_SIGNED
			     : btf_is_any_enum(t) && btf_kflag(t);
}

static enum plumb_result result_of(const struct plumb_function *f)
{
	const struct btf_type *t = resolve(f->btf, prototype(f)->type);

	if (t && btf_is_ptr(t))
		return PLUMB_RESULT_POINTER;
	if (!t || !btf_is_int(t) || !is_signed(t))
		return PLUMB_RESULT_NONE;
	return t->size == 8   ? PLUMB_RESULT_LONG
	       : t->size == 4 ? PLUMB_RESULT_INT
			      : PLUMB_RESULT_NONE;
}

/* Assigns the types of BTF from number FIRST on to the functions of MODULE. */
static void describe(struct plumb_functions *fs, const char *module, const struct btf *btf,
		     uint32_t first, int fd)
{
	const struct btf_type *t;
	size_t n;
	struct sought *all = seek(fs, module, &n), *s;

	for (uint32_t id = first; n && id < btf__type_cnt(btf); id++) {
		t = btf__type_by_id(btf, id);
		if (!btf_is_func(t))
			continue;
		s = find(all, n, name_at(btf, t->name_off));
		if (!s || !has_prototype(btf, t))
			continue;
		s->types++;
		s->function->btf_id = id;
	}
	for (s = all; s < all + n; s++) {
		/* If there are several types of this name, it is not known which is right. */
		if (s->types != 1) {
			s->function->btf_id = 0;
			continue;
		}
		s->function->btf = btf;
		s->function->btf_fd = fd;
		s->function->result = result_of(s->function);
	}
	free(all);
}

/* Returns a descriptor of the BTF of a module in the kernel, or -1. */
static int open_module_btf(const char *module)
{
	struct bpf_btf_info info;
	char name[64];
	uint32_t id = 0, size;
	int fd;

	while (!bpf_btf_get_next_id(id, &id)) {
		fd = bpf_btf_get_fd_by_id(id);
		if (fd < 0)
			continue;
		info = (struct bpf_btf_info){.name = (uintptr_t)name, .name_len = sizeof(name)};
		size = sizeof(info);
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && info.kernel_btf &&
		    !strcmp(name, module))
			return fd;
		close(fd);
	}
	return -1;
}

static struct btf *parse(const char *module, struct btf *base)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s" KERNEL_BTF "%s", plumb_functions_root, module);
	return btf__parse_split(path, base);
}

static bool is_known(const struct plumb_functions *fs, const char *module)
{
	for (size_t i = 0; i < fs->n_modules; i++)
		if (!strcmp(fs->modules[i].name, module))
			return true;
	return false;
}

static void describe_module(struct plumb_functions *fs, const char *module)
{
	struct plumb_module_btf *m = plumb_append(fs->modules, fs->n_modules);

	*m = (struct plumb_module_btf){plumb_copied(module), parse(module, fs->btf), -1};
	if (!m->btf)
		return;
	m->fd = open_module_btf(module);
	describe(fs, m->name, m->btf, btf__type_cnt(fs->btf), m->fd);
}

int plumb_prototypes_read(struct plumb_functions *fs, const char *btf_file)
{
	struct plumb_function *f;

	fs->btf = btf_file ? plumb_types_read(btf_file) : plumb_kernel_btf_get();
	if (!fs->btf && btf_file)
		return -ENOENT;
	if (!fs->btf) {
		plumb_info("no types: " KERNEL_BTF "vmlinux: %s", strerror(errno));
		return 0;
	}
	describe(fs, NULL, fs->btf, 1, 0);
	/* A module's BTF refers to types in the running kernel's BTF, not in that of a file. */
	for (f = fs->all; !btf_file && f < fs->all + fs->n; f++)
		if (f->module && !is_known(fs, f->module))
			describe_module(fs, f->module);
	return 0;
}

void plumb_prototypes_from(struct plumb_functions *fs, const struct btf *btf)
{
	describe(fs, NULL, btf, 1, -1);
}

void plumb_prototypes_free(struct plumb_functions *fs)
{
	struct plumb_module_btf *m;

	for (m = fs->modules; m < fs->modules + fs->n_modules; m++) {
		if (m->fd >= 0)
			close(m->fd);
		btf__free(m->btf);
		free(m->name);
	}
	free(fs->modules);
	plumb_kernel_btf_put(fs->btf);
}

/* --- arguments --- */

/* Counts the arguments with a type: "...", as of printk(fmt, ...), is a last one without. */
static unsigned int count_arguments(const struct btf_type *proto)
{
	unsigned int n = btf_vlen(proto);

	return n && !btf_params(proto)[n - 1].type ? n - 1 : n;
}

/* Whether an argument of this type takes exactly one register. */
static bool fits_register(const struct btf_type *t)
{
	return t && !btf_is_float(t) && (btf_is_ptr(t) || t->size <= 8);
}

static int use_argument(const struct plumb_function *f, const struct btf_type *proto,
			unsigned int index, struct plumb_argument *argument)
{
	const struct btf_param *params = btf_params(proto);
	const struct btf_type *t = resolve(f->btf, params[index].type);

	if (!t || !(btf_is_ptr(t) || btf_is_int(t) || btf_is_any_enum(t)) || !fits_register(t))
		return plumb_error(ENOTSUP, "%s: argument %u (%s) is not a number", f->name, index,
				   name_at(f->btf, params[index].name_off));
	for (unsigned int i = 0; i < index; i++)
		if (!fits_register(resolve(f->btf, params[i].type)))
			return plumb_error(
				ENOTSUP,
				"%s: argument %u cannot be found, as argument %u is not in one "
				"register",
				f->name, index, i);
	*argument = (struct plumb_argument){
		.index = index,
		.bits = btf_is_ptr(t) ? 64 : t->size * 8,
		.is_signed = is_signed(t),
		.is_pointer = btf_is_ptr(t),
	};
	return 0;
}

static int say_no_argument(const struct plumb_function *f, const struct btf_type *proto,
			   const char *text)
{
	const struct btf_param *params = btf_params(proto);
	unsigned int n = count_arguments(proto);
	char names[512] = "";
	size_t length = 0;

	for (unsigned int i = 0; i < n && length < sizeof(names); i++)
		length += snprintf(names + length, sizeof(names) - length, "%s%s", i ? ", " : "",
				   name_at(f->btf, params[i].name_off));
	return plumb_error(ENOENT, "%s has no argument %s (%s%s)", f->name, text,
			   n ? "it has " : "it has none", names);
}

/* Without a prototype: each architecture passes at least the first 6 arguments in registers. */
static int trust_number(const struct plumb_function *f, const char *text, bool is_number,
			uint64_t number, struct plumb_argument *argument)
{
	if (!is_number)
		return plumb_error(ENOTSUP, "%s: argument %s: %s; use a number (0 to 5)", f->name,
				   text,
				   f->changed || f->cold ? "the compiler changed its signature"
				   : f->ambiguous        ? "other functions have its name"
							 : "no BTF describes it");
	if (number > 5)
		return plumb_error(ENOENT, "%s: argument %s: only 0 to 5 are in registers", f->name,
				   text);
	*argument = (struct plumb_argument){.index = number, .bits = 64};
	return 0;
}

int plumb_function_argument(const struct plumb_function *f, const char *text,
			    struct plumb_argument *argument)
{
	const struct btf_type *proto;
	uint64_t number = 0;
	bool is_number = !plumb_parse_u64(text, 0, UINT32_MAX, &number);

	if (!f->btf)
		return trust_number(f, text, is_number, number, argument);
	proto = prototype(f);
	for (unsigned int i = 0; i < count_arguments(proto); i++)
		if (is_number ? i == number
			      : !strcmp(text, name_at(f->btf, btf_params(proto)[i].name_off)))
			return use_argument(f, proto, i, argument);
	return say_no_argument(f, proto, text);
}
