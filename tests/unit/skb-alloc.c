// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* skb-alloc: which container a cgroup's path names, as each runtime writes it; columns of bytes. */
#include "unit.h"
#include <plumb/core/report.h>

#include "container.h"

#define ID    "4f9d2a6b8c0e1f3a5b7d9c1e3f5a7b9d0c2e4f6a8b0d2c4e6f8a0b1c3d5e7f90"
#define OTHER "aa11bb22cc33dd44ee55ff6600778899aa11bb22cc33dd44ee55ff6600778899"
#define POD   "0c5f8f0e-5f1b-4f0c-9d3b-2a6a1de0b6d1"

struct sample {
	const char *path, *name;
};

static void check_all(const struct sample *samples, size_t n)
{
	char text[64];

	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(container_name(samples[i].path, text, sizeof(text)), text);
		check(!strcmp(text, samples[i].name), "%s: %s, not %s", samples[i].path, text,
		      samples[i].name);
	}
}

static void runtimes(void **state)
{
	static const struct sample samples[] = {
		/* Docker, with its own driver and with systemd's */
		{"/docker/" ID, "4f9d2a6b8c0e"},
		{"/system.slice/docker-" ID ".scope", "4f9d2a6b8c0e"},
		/* rootless */
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope",
		 "4f9d2a6b8c0e"},
		/* containerd and CRI-O under Kubernetes */
		{"/kubepods/burstable/pod" POD "/" ID, "4f9d2a6b8c0e"},
		{"/kubepods/pod" POD "/" ID, "4f9d2a6b8c0e"},
		{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod"
		 "0c5f8f0e_5f1b_4f0c_9d3b_2a6a1de0b6d1.slice/cri-containerd-" ID ".scope",
		 "4f9d2a6b8c0e"},
		{"/kubepods.slice/kubepods-pod0c5f8f0e.slice/crio-" ID ".scope", "4f9d2a6b8c0e"},
		{"/system.slice/containerd.service/kubepods-pod0c5f8f0e.slice:cri-containerd:" ID,
		 "4f9d2a6b8c0e"},
		/* Podman */
		{"/machine.slice/libpod-" ID ".scope", "4f9d2a6b8c0e"},
		{"/machine.slice/libpod-" ID ".scope/container", "4f9d2a6b8c0e"},
		{"/libpod_parent/libpod-" ID, "4f9d2a6b8c0e"},
		{"/machine.slice/libpod-conmon-" ID ".scope", "4f9d2a6b8c0e"},
		/* LXC, and systemd-nspawn */
		{"/lxc.payload.web", "web"},
		{"/lxc.payload.web/system.slice/nginx.service", "web"},
		{"/lxc/web", "web"},
		{"/lxc/web/init.scope", "web"},
		{"/machine.slice/machine-web.scope", "web"},
		{"/machine.slice/machine-web.scope/payload/system.slice", "web"},
	};

	check_all(samples, LENGTH(samples));
}

static void the_innermost_of_nested_ones(void **state)
{
	static const struct sample samples[] = {
		{"/docker/" ID "/docker/" OTHER, "aa11bb22cc33"},
		{"/docker/" ID "/system.slice/docker-" OTHER ".scope/init", "aa11bb22cc33"},
		{"/lxc.payload.web/docker/" ID, "4f9d2a6b8c0e"},
		{"/docker/" ID "/lxc/web/init.scope", "web"},
		{"/docker/" ID "/lxc.payload.web", "web"},
		{"/machine.slice/machine-web.scope/docker/" ID, "4f9d2a6b8c0e"},
		{"/lxc/web/lxc/inner", "inner"},
		{"/lxc/lxc", "lxc"},
	};

	check_all(samples, LENGTH(samples));
}

static void none(void **state)
{
	static const struct sample samples[] = {
		{"", "-"},
		{"/", "-"},
		{"-", "-"},
		{"[cgroup 17]", "-"},
		{"/init.scope", "-"},
		{"/system.slice/ssh.service", "-"},
		{"/system.slice/docker.service", "-"},
		{"/docker", "-"},
		{"/docker/", "-"},
		{"/lxc", "-"},
		{"/lxc/", "-"},
		{"/lxc.payload.", "-"},
		{"/lxc.monitor.web", "-"},
		{"/lxcfs/web", "-"},
		{"/machine.slice", "-"},
		{"/machine-.scope", "-"},
		{"/user.slice/user-1000.slice/session-4.scope", "-"},
		/* A pod is not a container. */
		{"/kubepods/burstable/pod" POD, "-"},
		/* Not an id: a digit too few, one too many, capitals. */
		{"/docker/f9d2a6b8c0e1f3a5b7d9c1e3f5a7b9d0c2e4f6a8b0d2c4e6f8a0b1c3d5e7f90", "-"},
		{"/docker/" ID "0", "-"},
		{"/docker/4F9D2A6B8C0E1F3A5B7D9C1E3F5A7B9D0C2E4F6A8B0D2C4E6F8A0B1C3D5E7F90", "-"},
		{"/docker/4f9d2a6b8c0e1f3a5b7d9c1e3f5a7b9d/0c2e4f6a8b0d2c4e6f8a0b1c3d5e7f90", "-"},
	};

	check_all(samples, LENGTH(samples));
}

static void the_escapes_of_systemd_are_undone(void **state)
{
	static const struct sample samples[] = {
		{"/machine.slice/machine-deb\\x2d1.scope", "deb-1"},
		{"/machine.slice/machine-deb\\x2d1.scope/payload/system.slice", "deb-1"},
		{"/machine.slice/machine-\\x2da\\x2d\\x2db\\x2d.scope", "-a--b-"},
		{"/machine.slice/machine-qemu\\x2d1\\x2dweb.scope/libvirt", "qemu-1-web"},
		{"/machine.slice/machine-\\x2ehidden.scope", ".hidden"},
		/* Once only. */
		{"/machine.slice/machine-a\\x5cx2d.scope", "a\\x2d"},
		/* Of systemd's own: not those of others, who do not escape. */
		{"/lxc.payload.deb\\x2d1", "deb\\x2d1"},
		{"/lxc/deb\\x2d1", "deb\\x2d1"},
		/* Malformed, or of another writer. */
		{"/machine.slice/machine-a\\.scope", "a\\"},
		{"/machine.slice/machine-a\\x.scope", "a\\x"},
		{"/machine.slice/machine-a\\x2.scope", "a\\x2"},
		{"/machine.slice/machine-a\\x2", "a\\x2"},
		{"/machine.slice/machine-a\\x2g.scope", "a\\x2g"},
		{"/machine.slice/machine-a\\xg2.scope", "a\\xg2"},
		{"/machine.slice/machine-a\\x2D.scope", "a\\x2D"},
		{"/machine.slice/machine-a\\n\\055.scope", "a\\n\\055"},
		{"/machine.slice/machine-a\\\\x2d.scope", "a\\-"},
		/* What a terminal would obey stays escaped, and so does what is no ASCII. */
		{"/machine.slice/machine-a\\x00b\\x0a\\x1b[31m\\x7f\\x9b.scope",
		 "a\\x00b\\x0a\\x1b[31m\\x7f\\x9b"},
		{"/machine.slice/machine-\\xc3\\xa4.scope", "\\xc3\\xa4"},
	};

	check_all(samples, LENGTH(samples));
}

/* A name may be as long as a file's. */
static void names_are_cut_to_their_room(void **state)
{
	char text[8], *end = text + 6;

	*end = '!';
	assert_string_equal(container_name("/docker/" ID, text, 6), "4f9d2");
	assert_string_equal(container_name("/lxc/a-long-name", text, 6), "a-lon");
	assert_string_equal(container_name("/lxc.payload.a-long-name", text, 6), "a-lon");
	assert_string_equal(container_name("/machine-\\x61\\x62\\x63-name.scope", text, 6),
			    "abc-n");
	assert_string_equal(container_name("/", text, 6), "-");
	assert_int_equal(*end, '!');
}

/* The table's columns where rows are sorted by NAME. */
static const char *columns_sorted_by(const char *name)
{
	static char text[256];
	struct plumb_tool tool = {.measure = {.kind = PLUMB_SIZES, .errors = true}};
	const struct plumb_run run = {.tool = &tool, .options.sort = name};
	struct plumb_row row = {.slot = 1, .count = 1, .sum = 100};
	struct plumb_snapshot one = {.rows = &row, .n = 1};
	struct plumb_report r = {.run = &run, .snap = &one};
	FILE *out = fmemopen(text, sizeof(text), "w");

	plumb_report_table(&r, out);
	fclose(out);
	text[strcspn(text, "\n")] = 0;
	return text;
}

static void the_sum_of_sizes_is_called_bytes(void **state)
{
	assert_string_equal(columns_sorted_by("bytes"), "CALLS RATE/S BYTES MAX");
	assert_string_equal(columns_sorted_by("min"), "CALLS RATE/S BYTES MIN MAX");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runtimes),
		cmocka_unit_test(the_innermost_of_nested_ones),
		cmocka_unit_test(none),
		cmocka_unit_test(the_escapes_of_systemd_are_undone),
		cmocka_unit_test(names_are_cut_to_their_room),
		cmocka_unit_test(the_sum_of_sizes_is_called_bytes),
	};

	return run_all(tests);
}
