// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* subset: the types that an object gets, of a kernel and a module that the test makes. */
#include <sys/stat.h>
#include <plumb/kernel/subset.h>
#include <plumb/kernel/types.h>

#include "unit.h"
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#define OBJECT  "build/bpf/runq-latency.bpf.o"
#define ANOTHER "build/bpf/syscall-count.bpf.o"

static char root[] = "/tmp/subset-XXXXXX";

static void write_btf(const char *name, const struct btf *btf)
{
	char path[sizeof(root) + 64];
	uint32_t size;
	const void *data = btf__raw_data(btf, &size);
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/kernel/btf/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* struct NAME, whose member of that name has TYPE; and a pointer to POINTED. */
static void add_struct(struct btf *btf, const char *name, const char *member, int type, int pointed)
{
	const int pointer = btf__add_ptr(btf, pointed);

	assert_true(btf__add_struct(btf, name, 64) > 0);
	assert_int_equal(btf__add_field(btf, member, type, 64, 0), 0);
	assert_int_equal(btf__add_field(btf, "pointer", pointer, 128, 0), 0);
}

static const struct btf_member *member_of(const struct btf *btf, const char *name, uint32_t i)
{
	const int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	assert_true(id > 0);
	assert_int_equal(btf__type_by_id(btf, id)->size, 64);
	return &btf_members(btf__type_by_id(btf, id))[i];
}

static void has_struct(const struct btf *btf, const char *name, const char *member)
{
	const struct btf_member *m = member_of(btf, name, 0);
	const struct btf_type *t = btf__type_by_id(btf, m->type);

	assert_string_equal(btf__name_by_offset(btf, m->name_off), member);
	assert_int_equal(m->offset, 64);
	assert_true(btf_is_array(t));
	t = btf__type_by_id(btf, btf_array(t)->type);
	assert_string_equal(btf__name_by_offset(btf, t->name_off), "inner");
	assert_int_equal(t->size, 4);
	t = btf__type_by_id(btf, member_of(btf, name, 1)->type);
	assert_true(btf_is_ptr(t) && !t->type);
}

/* A type of the object, other than task_struct, that has no flavor. */
static const char *other_type(const struct btf *btf)
{
	const struct btf_type *t;
	const char *name;

	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		t = btf__type_by_id(btf, id);
		name = btf__name_by_offset(btf, t->name_off);
		if (btf_is_struct(t) && *name && strcmp(name, "task_struct") &&
		    !strstr(name, "___"))
			return name;
	}
	fail();
	return NULL;
}

static void an_object_gets_the_types_that_it_names(void **state)
{
	struct bpf_object *object = bpf_object__open_file(OBJECT, NULL);
	struct bpf_object *another = bpf_object__open_file(ANOTHER, NULL);
	struct btf *kernel = btf__new_empty(), *module, *got;
	int integer, inner, array, unrelated;
	const char *other;

	assert_non_null(object);
	other = other_type(bpf_object__btf(object));
	integer = btf__add_int(kernel, "int", 4, BTF_INT_SIGNED);
	unrelated = btf__add_struct(kernel, "unrelated", 4);
	inner = btf__add_struct(kernel, "inner", 4);
	assert_int_equal(btf__add_field(kernel, "value", integer, 0, 0), 0);
	array = btf__add_array(kernel, integer, inner, 2);
	add_struct(kernel, "task_struct", "of_kernel", array, unrelated);
	write_btf("vmlinux", kernel);
	module = btf__new_empty_split(kernel);
	add_struct(module, other, "of_module", array, unrelated);
	add_struct(module, "task_struct", "of_module", array, unrelated);
	write_btf("module", module);

	assert_non_null(plumb_subset_path());
	assert_int_equal(plumb_subset_fill(object), 0);
	got = btf__parse(plumb_subset_path(), NULL);
	assert_non_null(got);
	has_struct(got, "task_struct", "of_kernel");
	has_struct(got, other, "of_module");
	assert_true(btf__find_by_name_kind(got, "unrelated", BTF_KIND_STRUCT) < 0);
	btf__free(got);
	/* The same object again, and one that names others. */
	assert_int_equal(plumb_subset_fill(object), 0);
	assert_non_null(another);
	assert_int_equal(plumb_subset_fill(another), 0);
	got = btf__parse(plumb_subset_path(), NULL);
	assert_non_null(got);
	has_struct(got, "task_struct", "of_kernel");
	assert_true(btf__find_by_name_kind(got, other, BTF_KIND_STRUCT) < 0);
	btf__free(got);
	btf__free(module);
	btf__free(kernel);
	bpf_object__close(another);
	bpf_object__close(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_gets_the_types_that_it_names),
	};
	char command[sizeof(root) + 64];
	int status;

	if (!mkdtemp(root))
		return 1;
	snprintf(command, sizeof(command), "mkdir -p %s/sys/kernel/btf", root);
	if (system(command))
		return 1;
	plumb_functions_root = root;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command) ? 1 : status;
}
