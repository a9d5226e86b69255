// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * containers: names of containers and pods, from files as the kubelet and runtimes write them; what
 * is printed of both, and what -g takes.
 */
#include "directory.h"
#include <plumb/containers/names.h>
#include <plumb/containers/place.h>
#include <sys/stat.h>

#include "../../tools/lib/containers/containers.h"

#define ID     "4f9d2a6b8c0e1f3a5b7d9c1e3f5a7b9d0c2e4f6a8b0d2c4e6f8a0b1c3d5e7f90"
#define OTHER  "aa11bb22cc33dd44ee55ff6600778899aa11bb22cc33dd44ee55ff6600778899"
#define THIRD  "bb11bb22cc33dd44ee55ff6600778899aa11bb22cc33dd44ee55ff6600778899"
#define FOURTH "cc11bb22cc33dd44ee55ff6600778899aa11bb22cc33dd44ee55ff6600778899"
#define POD    "0c5f8f0e-5f1b-4f0c-9d3b-2a6a1de0b6d1"

__attribute__((format(printf, 2, 3))) static void put(const char *path, const char *text, ...)
{
	char command[600];
	va_list args;
	FILE *f;

	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"", path);
	assert_int_equal(system(command), 0);
	f = fopen(path, "w");
	assert_non_null(f);
	va_start(args, text);
	vfprintf(f, text, args);
	va_end(args);
	fclose(f);
}

static int clear(void **state)
{
	return system("rm -rf var run");
}

static const char *container_of(const char *id)
{
	static char text[256];

	return plumb_container_name(directory, id, text, sizeof(text)) ? text : "?";
}

static const char *pod_of(const char *uid)
{
	static char text[256];

	return plumb_pod_name(directory, uid, text, sizeof(text)) ? text : "?";
}

static void names_of_kubernetes(void **state)
{
	assert_string_equal(pod_of(POD), "?");
	put("var/log/pods/web_nginx-7d9f-x2x4z_" POD "/nginx/0.log", "not read");
	put("var/log/pods/kube-system_etcd-a_0123456789abcdef0123456789abcdef/etcd/0.log", "-");
	put("var/log/pods/other_" POD "/x/0.log", "-");
	put("var/log/containers/nginx-7d9f-x2x4z_web_my-nginx-" ID ".log", "-");
	put("var/log/containers/odd-" OTHER ".log", "-");
	assert_string_equal(pod_of("0123456789abcdef0123456789abcdef"), "kube-system/etcd-a");
	assert_string_equal(pod_of("0c5f8f0e-5f1b-4f0c-9d3b-2a6a1de0b6d2"), "?");
	assert_string_equal(pod_of("a6a1de0b6d1"), "?"); /* the end of one */
	assert_string_equal(container_of(ID), "my-nginx");
	assert_string_equal(container_of(OTHER), "?");
	assert_int_equal(system("rm -r var/log/pods/other*"), 0);
	assert_string_equal(pod_of(POD), "web/nginx-7d9f-x2x4z");
}

static void names_of_docker(void **state)
{
	put("var/lib/docker/containers/" ID "/config.v2.json",
	    "{\"ID\":\"" ID "\",\"Name\":\"/wonderful_hopper\",\"Config\":{\"Env\":[\"A=b\"]}}");
	put("var/lib/docker/containers/" OTHER "/config.v2.json",
	    "{\"Name\":\"/k8s_app_web-0_default_" POD "_3\"}");
	assert_string_equal(container_of(ID), "wonderful_hopper");
	assert_string_equal(container_of(OTHER), "app");
}

static void names_of_containerd(void **state)
{
	put("run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
	    "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\"}}");
	put("run/containerd/io.containerd.runtime.v2.task/default/" OTHER "/config.json",
	    "{\"annotations\":{\"nerdctl/name\":\"db\"}}");
	assert_string_equal(container_of(ID), "app");
	assert_string_equal(container_of(OTHER), "db");
}

static void names_of_podman(void **state)
{
	put("var/lib/containers/storage/overlay-containers/containers.json",
	    "[{\"id\":\"" OTHER "\",\"names\":[\"k8s_app_web-0_default_" POD "_0\"]},"
	    "{\"id\":\"" ID "\",\"names\":[\"wise_wing\",\"more\"]}]");
	put("run/containers/storage/overlay-containers/volatile-containers.json",
	    "[{\"id\":\"" THIRD "\",\"names\":[\"for-a-while\"]}, {\"id\": \"" FOURTH "\"}]");
	assert_string_equal(container_of(ID), "wise_wing");
	assert_string_equal(container_of(OTHER), "app");
	assert_string_equal(container_of(THIRD), "for-a-while");
	assert_string_equal(container_of(FOURTH), "?");
}

/* Whatever is there instead of what a daemon writes: no name, and no waiting for it. */
static void files_that_are_not_theirs(void **state)
{
	static const char path[] = "var/lib/docker/containers/" ID "/config.v2.json";
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"Name\":3}",
		"{\"Name\":\"\"}",
		"{\"Name\":\"/\"}",
		"{\"Name\":\"/k8s_\"}",
		"{\"Name\":\"/\\u0000\"}",
	};
	char longer[300];

	for (size_t i = 0; i < LENGTH(texts); i++) {
		put(path, "%s", texts[i]);
		check(!strcmp(container_of(ID), "?"), "%s", texts[i]);
	}
	memset(longer, 'x', sizeof(longer));
	longer[299] = 0;
	put(path, "{\"Name\":\"%s\"}", longer);
	assert_string_equal(container_of(ID), "?");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_string_equal(container_of(ID), "?");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_string_equal(container_of(ID), "?");
}

/* --- what is printed, and what -g takes --- */

static struct containers_names named(const char *path)
{
	const struct plumb_place p = plumb_place_of(path);
	struct containers_names names;

	containers_name(directory, &p, &names);
	return names;
}

static void what_is_printed(void **state)
{
	static const char in_pod[] = "/kubepods/burstable/pod" POD "/" ID;
	static const char podman[] =
		"/machine.slice/machine-libpod_pod_" OTHER ".slice/libpod-" ID ".scope";

	assert_string_equal(named("/").container, "-");
	assert_string_equal(named("/").pod, "-");
	assert_string_equal(named("/docker/" ID).container, "4f9d2a6b8c0e");
	assert_string_equal(named("/docker/" ID).pod, "-");
	assert_string_equal(named("/lxc/web").container, "web");
	assert_string_equal(named(podman).container, "4f9d2a6b8c0e");
	assert_string_equal(named(podman).pod, "aa11bb22cc33");
	assert_string_equal(named(in_pod).container, POD "/4f9d2a6b8c0e");
	assert_string_equal(named(in_pod).pod, POD);
	put("var/log/pods/web_nginx-1_" POD "/nginx/0.log", "-");
	assert_string_equal(named(in_pod).container, "web/nginx-1/4f9d2a6b8c0e");
	assert_string_equal(named(in_pod).pod, "web/nginx-1");
	put("var/log/containers/nginx-1_web_nginx-" ID ".log", "-");
	assert_string_equal(named(in_pod).container, "web/nginx-1/nginx");
}

static bool is_container(const char *text, const char *path)
{
	const struct plumb_place p = plumb_place_of(path);
	const struct containers_names names = named(path);

	return containers_is_container(text, &p, &names);
}

static bool is_pod(const char *text, const char *path)
{
	const struct plumb_place p = plumb_place_of(path);
	const struct containers_names names = named(path);

	return containers_is_pod(text, &p, &names);
}

static void what_a_filter_takes(void **state)
{
	static const char in_pod[] = "/kubepods/burstable/pod" POD "/" ID;

	put("var/log/pods/web_nginx-1_" POD "/nginx/0.log", "-");
	put("var/log/containers/nginx-1_web_nginx-" ID ".log", "-");
	assert_true(is_container("web/nginx-1/nginx", in_pod));
	assert_true(is_container("nginx", in_pod));
	assert_true(is_container(ID, in_pod));
	assert_true(is_container("4f9d2a6b8c0e", in_pod));
	assert_true(is_container("web", "/lxc.payload.web"));
	assert_false(is_container("4f9d2a6b8c0", in_pod)); /* too short to be one */
	assert_false(is_container(ID "0", in_pod));
	assert_false(is_container("aa11bb22cc33", in_pod));
	assert_false(is_container("nginx-1", in_pod));
	assert_false(is_container("", in_pod));
	assert_false(is_container("-", "/"));
	assert_false(is_container("", "/"));
	assert_true(is_pod("web/nginx-1", in_pod));
	assert_true(is_pod(POD, in_pod));
	assert_false(is_pod("nginx-1", in_pod));
	assert_false(is_pod("", in_pod));
	assert_false(is_pod("-", "/docker/" ID));
	assert_true(is_pod("aa11bb22cc33", "/machine.slice/machine-libpod_pod_" OTHER ".slice"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(names_of_kubernetes, clear),
		cmocka_unit_test_teardown(names_of_docker, clear),
		cmocka_unit_test_teardown(names_of_containerd, clear),
		cmocka_unit_test_teardown(names_of_podman, clear),
		cmocka_unit_test_teardown(files_that_are_not_theirs, clear),
		cmocka_unit_test_teardown(what_is_printed, clear),
		cmocka_unit_test_teardown(what_a_filter_takes, clear),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, enter, leave);
}
