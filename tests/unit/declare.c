// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* declare: types made for it, types that make no sense, and those of the running kernel. */
#include "unit.h"
#include <plumb/functions/declare.h>
#include <plumb/functions/functions.h>

#include <bpf/btf.h>

static struct btf *btf;
static struct plumb_declarer declarer;

static int begin(void **state)
{
	btf = btf__new_empty();
	return !btf;
}

static int end(void **state)
{
	plumb_declarer_free(&declarer);
	btf__free(btf);
	return 0;
}

static const char *declared(int id, const char *name)
{
	return plumb_declare(&declarer, btf, id, name) ?: "(none)";
}

static void types_are_declared_as_in_c(void **state)
{
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int letter = btf__add_int(btf, "char", 1, 0);
	int constant = btf__add_const(btf, letter);
	int text = btf__add_ptr(btf, constant);
	int sock = btf__add_struct(btf, "sock", 0);
	int to_sock = btf__add_ptr(btf, sock);
	int array = btf__add_array(btf, number, letter, 16);
	int compare, to_compare, send;

	compare = btf__add_func_proto(btf, number);
	btf__add_func_param(btf, "a", text);
	btf__add_func_param(btf, "b", text);
	to_compare = btf__add_ptr(btf, compare);
	send = btf__add_func_proto(btf, to_sock);
	btf__add_func_param(btf, "sk", to_sock);
	btf__add_func_param(btf, "", number);
	btf__add_func_param(btf, "compare", to_compare);
	btf__add_func_param(btf, "", 0);
	assert_string_equal(declared(number, "x"), "int x");
	assert_string_equal(declared(text, "name"), "const char *name");
	assert_string_equal(declared(text, ""), "const char *");
	assert_string_equal(declared(array, "comm"), "char comm[16]");
	assert_string_equal(declared(to_compare, "compare"),
			    "int (*compare)(const char *a, const char *b)");
	assert_string_equal(declared(send, "send"),
			    "struct sock *send(struct sock *sk, int, "
			    "int (*compare)(const char *a, const char *b), ...)");
	assert_string_equal(declared(0, ""), "void");
}

static void types_of_one_name_are_not_numbered(void **state)
{
	int first = btf__add_ptr(btf, btf__add_struct(btf, "page", 8));
	int second = btf__add_ptr(btf, btf__add_struct(btf, "page", 16));
	int proto = btf__add_func_proto(btf, 0);

	btf__add_func_param(btf, "a", first);
	btf__add_func_param(btf, "b", second);
	assert_string_equal(declared(proto, "f"), "void f(struct page *a, struct page *b)");
}

/* libbpf 1.1 would go round in such rings, or leave its arrays. */
static void rings_are_refused(void **state)
{
	int ring = btf__add_ptr(btf, 2), other, proto;

	other = btf__add_const(btf, ring);
	proto = btf__add_func_proto(btf, 0);
	btf__add_func_param(btf, "self", proto + 1);
	btf__add_ptr(btf, proto);
	assert_string_equal(declared(ring, "x"), "(none)");
	assert_string_equal(declared(other, "x"), "(none)");
	assert_string_equal(declared(proto, "x"), "(none)");
}

static void types_that_are_nowhere_are_refused(void **state)
{
	int number = btf__add_int(btf, "int", 4, 0);

	assert_string_equal(declared(number, "x"), "int x");
	assert_string_equal(declared(number + 1, "x"), "(none)");
	plumb_declarer_free(&declarer);
	btf__add_ptr(btf, 1000000);
	assert_string_equal(declared(number, "x"), "(none)");
}

static void what_has_no_name_is_not_defined(void **state)
{
	int unnamed = btf__add_struct(btf, NULL, 8);

	assert_string_equal(declared(btf__add_ptr(btf, unnamed), "x"), "(none)");
}

/* --- the running kernel --- */

static const char *prototype_of(const struct plumb_functions *f)
{
	return plumb_function_prototype(&declarer, &f->all[0]) ?: "(none)";
}

static void functions_of_this_kernel_are_declared(void **state)
{
	static const char *const read = "vfs_read", *const send = "tcp_sendmsg";
	struct plumb_functions found;

	if (plumb_functions_find(&read, 1, NULL, &found))
		skip();
	assert_string_equal(prototype_of(&found),
			    "ssize_t vfs_read(struct file *file, char *buf, size_t count, "
			    "loff_t *pos)");
	plumb_declarer_free(&declarer);
	plumb_functions_free(&found);
	assert_int_equal(plumb_functions_find(&send, 1, NULL, &found), 0);
	assert_string_equal(prototype_of(&found),
			    "int tcp_sendmsg(struct sock *sk, struct msghdr *msg, size_t size)");
	found.all[0].btf = NULL;
	assert_string_equal(prototype_of(&found), "(none)");
	plumb_declarer_free(&declarer);
	plumb_functions_free(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(types_are_declared_as_in_c, begin, end),
		cmocka_unit_test_setup_teardown(types_of_one_name_are_not_numbered, begin, end),
		cmocka_unit_test_setup_teardown(rings_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(types_that_are_nowhere_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(what_has_no_name_is_not_defined, begin, end),
		cmocka_unit_test_setup_teardown(functions_of_this_kernel_are_declared, begin, end),
	};

	return run_all(tests);
}
