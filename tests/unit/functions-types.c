// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* functions-types: prototypes and arguments by BTF. */
#include "functions.h"

/* --- types --- */

struct types {
	struct btf *btf;
	int s32, u32, s64, u64, s16, boolean, u128, real, pointer, choice, small, large;
	int ssize, error; /* a typedef of a const typedef of s64, one of s32 */
};

static void write_btf(const char *path, const struct btf *btf)
{
	uint32_t size;
	const void *data = btf__raw_data(btf, &size);

	assert_non_null(data);
	write_file(path, data, size);
}

static void make_types(struct types *t)
{
	int id;

	t->btf = btf__new_empty();
	assert_non_null(t->btf);
	t->s32 = btf__add_int(t->btf, "int", 4, BTF_INT_SIGNED);
	t->u32 = btf__add_int(t->btf, "unsigned int", 4, 0);
	t->s64 = btf__add_int(t->btf, "long", 8, BTF_INT_SIGNED);
	t->u64 = btf__add_int(t->btf, "unsigned long", 8, 0);
	t->s16 = btf__add_int(t->btf, "short", 2, BTF_INT_SIGNED);
	t->boolean = btf__add_int(t->btf, "_Bool", 1, BTF_INT_BOOL);
	t->u128 = btf__add_int(t->btf, "unsigned __int128", 16, 0);
	t->real = btf__add_float(t->btf, "double", 8);
	t->pointer = btf__add_ptr(t->btf, 0);
	t->choice = btf__add_enum(t->btf, "choice", 4);
	assert_int_equal(btf__add_enum_value(t->btf, "ONE", 1), 0);
	t->small = btf__add_struct(t->btf, "kuid_t", 4);
	assert_int_equal(btf__add_field(t->btf, "val", t->u32, 0, 0), 0);
	t->large = btf__add_struct(t->btf, "large", 16);
	id = btf__add_typedef(t->btf, "__kernel_ssize_t", t->s64);
	t->ssize = btf__add_typedef(t->btf, "ssize_t", btf__add_const(t->btf, id));
	t->error = btf__add_volatile(t->btf, btf__add_typedef(t->btf, "s32", t->s32));
	assert_true(t->error > 0);
}

/* A function of up to eight parameters, p0 to p7; a type of -1 is "...". */
static int add_function(struct btf *btf, const char *name, int result, const int *params, size_t n)
{
	int proto = btf__add_func_proto(btf, result), id;
	char param[8];

	assert_true(proto > 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(param, sizeof(param), "p%zu", i);
		assert_int_equal(btf__add_func_param(btf, params[i] < 0 ? "" : param,
						     params[i] < 0 ? 0 : params[i]),
				 0);
	}
	id = btf__add_func(btf, name, BTF_FUNC_STATIC, proto);
	assert_true(id > 0);
	return id;
}

static void results_tell_of_errors_by_their_type(void **state)
{
	struct types t;

	make_types(&t);
	const struct {
		const char *name;
		int type;
		enum plumb_result result;
	} all[] = {
		{"f_void", 0, PLUMB_RESULT_NONE},
		{"f_int", t.s32, PLUMB_RESULT_INT},
		{"f_s32", t.error, PLUMB_RESULT_INT},
		{"f_u32", t.u32, PLUMB_RESULT_NONE},
		{"f_long", t.s64, PLUMB_RESULT_LONG},
		{"f_ssize", t.ssize, PLUMB_RESULT_LONG},
		{"f_ulong", t.u64, PLUMB_RESULT_NONE},
		{"f_short", t.s16, PLUMB_RESULT_NONE},
		{"f_bool", t.boolean, PLUMB_RESULT_NONE},
		{"f_pointer", t.pointer, PLUMB_RESULT_POINTER},
		{"f_enum", t.choice, PLUMB_RESULT_NONE},
		{"f_struct", t.small, PLUMB_RESULT_NONE},
	};
	char text[4096] = "";
	int ids[LENGTH(all)];

	for (size_t i = 0; i < LENGTH(all); i++) {
		ids[i] = add_function(t.btf, all[i].name, all[i].type, NULL, 0);
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "ffffffff8100%04zx t %s\n", i * 16, all[i].name);
	}
	write_text(KALLSYMS, text);
	write_btf(VMLINUX, t.btf);
	assert_int_equal(find("f_*"), 0);
	assert_int_equal(found.n, LENGTH(all));
	for (size_t i = 0; i < LENGTH(all); i++) {
		const struct plumb_function *f = function(all[i].name);

		check(f->result == all[i].result, "%s: %d", f->name, f->result);
		check(f->btf_id == (uint32_t)ids[i], "%s: %u, not %d", f->name, f->btf_id, ids[i]);
		assert_ptr_equal(f->btf, found.btf);
		assert_int_equal(f->btf_fd, 0);
	}
	btf__free(t.btf);
}

static void only_what_is_certain_has_a_prototype(void **state)
{
	struct types t;
	int id, read_id;

	write_text(KALLSYMS, kernel);
	make_types(&t);
	read_id = add_function(t.btf, "vfs_read", t.ssize, NULL, 0);
	id = add_function(t.btf, "risen", t.s32, NULL, 0);
	add_function(t.btf, "twin", t.s32, NULL, 0);
	add_function(t.btf, "pared", t.s32, NULL, 0);
	add_function(t.btf, "frozen", t.s32, NULL, 0);
	add_function(t.btf, "vfs_readv", t.s32, NULL, 0);
	add_function(t.btf, "vfs_readv", t.s64, NULL, 0); /* which of the two? */
	add_function(t.btf, "weak", t.s32, NULL, 0);      /* a beginning of names */
	btf__add_func(t.btf, "weak_one", BTF_FUNC_STATIC, t.s32);
	write_btf(VMLINUX, t.btf);
	btf__free(t.btf);

	assert_int_equal(find("vmlinux:*", "frozen", "mod:vfs_read"), 0);
	assert_int_equal(function("risen.llvm.1234567890")->btf_id, id);
	assert_int_equal(function("risen.llvm.1234567890")->result, PLUMB_RESULT_INT);
	for (size_t i = 0; i < found.n; i++) {
		const struct plumb_function *f = &found.all[i];
		bool has = !strncmp(f->name, "risen", 5) ||
			   (!strcmp(f->name, "vfs_read") && !f->module);

		check(has == !!f->btf_id && has == !!f->btf, "%s: %u", f->name, f->btf_id);
		check(has || f->result == PLUMB_RESULT_NONE, "%s: %d", f->name, f->result);
		check(strcmp(f->name, "vfs_read") || f->module || f->btf_id == (uint32_t)read_id,
		      "%u, not %d", f->btf_id, read_id);
	}
}

static void modules_have_types_of_their_own(void **state)
{
	struct types t;
	struct btf *module;
	const int params[] = {1};
	int id;

	write_text(KALLSYMS, kernel);
	make_types(&t);
	add_function(t.btf, "vfs_read", t.s32, NULL, 0);
	add_function(t.btf, "other_fn", t.s32, NULL, 0); /* not the module's */
	write_btf(VMLINUX, t.btf);
	module = btf__new_empty_split(t.btf);
	assert_non_null(module);
	id = add_function(module, "vfs_read", t.s64, params, 1);
	write_btf("/sys/kernel/btf/mod", module);
	btf__free(module);
	btf__free(t.btf);

	assert_int_equal(find("vfs_read", "mod:vfs_mod", "other:other_fn"), 0);
	expect("vfs_read vfs_read vfs_mod other_fn");
	assert_int_equal(found.all[0].result, PLUMB_RESULT_INT);
	assert_ptr_equal(found.all[0].btf, found.btf);
	assert_int_equal(found.all[1].result, PLUMB_RESULT_LONG);
	assert_int_equal(found.all[1].btf_id, id);
	assert_ptr_not_equal(found.all[1].btf, found.btf);
	assert_int_equal(found.all[1].btf_fd, -1); /* this module is in no kernel */
	assert_int_equal(found.all[2].btf_id, 0);
	assert_int_equal(found.all[3].btf_id, 0);
}

static void types_can_come_from_a_file(void **state)
{
	const char *const names[] = {"vfs_readv", "mod:vfs_mod"};
	struct btf *module;
	char file[128];
	struct types t;

	write_text(KALLSYMS, kernel);
	make_types(&t);
	add_function(t.btf, "vfs_readv", t.s32, NULL, 0);
	write_btf("/elsewhere.btf", t.btf);
	module = btf__new_empty_split(t.btf);
	add_function(module, "vfs_mod", t.s32, NULL, 0);
	write_btf("/sys/kernel/btf/mod", module);
	btf__free(module);
	btf__free(t.btf);

	assert_int_equal(find("vfs_readv"), 0);
	assert_null(found.btf);
	assert_null(found.all[0].btf);
	assert_string_equal(heard, "");
	snprintf(file, sizeof(file), "%s/elsewhere.btf", root);
	assert_int_equal(find_with(file, names, 2), 0);
	assert_non_null(found.btf);
	assert_int_equal(found.all[0].result, PLUMB_RESULT_INT);
	assert_null(found.all[1].btf);
	snprintf(file, sizeof(file), "%s/nowhere.btf", root);
	assert_int_equal(find_with(file, names, 2), -ENOENT);
	expect_said("nowhere.btf");
	assert_int_equal(found.n, 0);
	write_text("/elsewhere.btf", "this is not BTF");
	snprintf(file, sizeof(file), "%s/elsewhere.btf", root);
	assert_true(find_with(file, names, 2) < 0);
	expect_said("elsewhere.btf");
}

static void arguments_have_names_and_widths(void **state)
{
	struct plumb_argument a;
	struct types t;

	write_text(KALLSYMS, kernel);
	make_types(&t);
	const int many[] = {t.s32, t.u32, t.ssize, t.boolean, t.pointer, t.choice, t.s16, t.small};
	const int wide[] = {t.small, t.u64, t.large, t.u64, t.u128, t.real};
	const int open[] = {t.pointer, -1};
	const int behind[] = {t.real, t.u64};

	add_function(t.btf, "vfs_readv", 0, many, LENGTH(many));
	add_function(t.btf, "weak_one", 0, wide, LENGTH(wide));
	add_function(t.btf, "weak_two", 0, open, LENGTH(open));
	add_function(t.btf, "alias_a", 0, NULL, 0);
	add_function(t.btf, "whole", 0, behind, LENGTH(behind));
	write_btf(VMLINUX, t.btf);
	btf__free(t.btf);
	assert_int_equal(find("vfs_readv", "weak_*", "alias_a", "whole"), 0);

	expect_argument("vfs_readv", "p0", 0, 32, true);
	expect_argument("vfs_readv", "p1", 1, 32, false);
	expect_argument("vfs_readv", "p2", 2, 64, true);
	expect_argument("vfs_readv", "p3", 3, 8, false);
	expect_argument("vfs_readv", "p4", 4, 64, false);
	expect_argument("vfs_readv", "p5", 5, 32, false);
	expect_argument("vfs_readv", "p6", 6, 16, true);
	expect_argument("vfs_readv", "0", 0, 32, true);
	expect_argument("vfs_readv", "6", 6, 16, true);
	assert_int_equal(argument("vfs_readv", "p7", &a), -ENOTSUP);
	assert_int_equal(argument("vfs_readv", "8", &a), -ENOENT);
	assert_int_equal(argument("vfs_readv", "size", &a), -ENOENT);
	expect_said("vfs_readv has no argument size (it has p0, p1, p2, p3, p4, p5, p6, p7)\n");
	assert_int_equal(argument("alias_a", "0", &a), -ENOENT);
	expect_said("alias_a has no argument 0 (it has none)\n");
	assert_int_equal(argument("vfs_readv", "", &a), -ENOENT);

	/* A struct of 4 bytes takes a register, one of 16 two or none. */
	expect_argument("weak_one", "p1", 1, 64, false);
	assert_int_equal(argument("weak_one", "p2", &a), -ENOTSUP);
	assert_int_equal(argument("weak_one", "p3", &a), -ENOTSUP);
	expect_said("argument 3 cannot be found, as argument 2 is not in one register\n");
	assert_int_equal(argument("weak_one", "p4", &a), -ENOTSUP);
	assert_int_equal(argument("weak_one", "p5", &a), -ENOTSUP);
	assert_int_equal(argument("whole", "p1", &a), -ENOTSUP);
	expect_argument("weak_two", "p0", 0, 64, false);
	assert_int_equal(argument("weak_two", "1", &a), -ENOENT);
	assert_int_equal(a.index, 99);
}

static void without_prototype_a_number_is_trusted(void **state)
{
	struct plumb_argument a;

	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_readv", "pared", "twin"), 0);
	expect_argument("vfs_readv", "0", 0, 64, false);
	expect_argument("pared.isra.0", "5", 5, 64, false);
	assert_int_equal(argument("vfs_readv", "6", &a), -ENOENT);
	assert_int_equal(argument("vfs_readv", "size", &a), -ENOTSUP);
	expect_said("no BTF describes it");
	assert_int_equal(argument("pared.isra.0", "size", &a), -ENOTSUP);
	expect_said("the compiler changed its signature");
	assert_int_equal(argument("twin", "size", &a), -ENOTSUP);
	expect_said("other functions have its name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture(results_tell_of_errors_by_their_type),
		fixture(only_what_is_certain_has_a_prototype),
		fixture(modules_have_types_of_their_own),
		fixture(types_can_come_from_a_file),
		fixture(arguments_have_names_and_widths),
		fixture(without_prototype_a_number_is_trusted),
	};

	return run_all(tests);
}
