// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* containers: which container and pod a cgroup's path names, as each runtime writes it. */
#include "unit.h"
#include <plumb/containers/place.h>

#define ID    "4f9d2a6b8c0e1f3a5b7d9c1e3f5a7b9d0c2e4f6a8b0d2c4e6f8a0b1c3d5e7f90"
#define OTHER "aa11bb22cc33dd44ee55ff6600778899aa11bb22cc33dd44ee55ff6600778899"
#define POD   "0c5f8f0e-5f1b-4f0c-9d3b-2a6a1de0b6d1"
#define POD_  "0c5f8f0e_5f1b_4f0c_9d3b_2a6a1de0b6d1"

/* What is printed where no file has a name. */
static const char *shown(const char *path)
{
	static struct plumb_place p;

	p = plumb_place_of(path);
	p.id[PLUMB_CONTAINER_SHORT] = 0;
	return *p.name ? p.name : *p.id ? p.id : "-";
}

struct sample {
	const char *path, *name;
};

static void check_all(const struct sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(!strcmp(shown(samples[i].path), samples[i].name), "%s: %s, not %s",
		      samples[i].path, shown(samples[i].path), samples[i].name);
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
		{"/system.slice/nerdctl-" ID ".scope", "4f9d2a6b8c0e"},
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
		/* What watches over a container is not in it. */
		{"/machine.slice/libpod-conmon-" ID ".scope", "-"},
		{"/kubepods.slice/kubepods-pod" POD_ ".slice/crio-conmon-" ID ".scope", "-"},
		/* Units of systemd. */
		{"/system.slice/backup-" ID ".scope", "-"},
		{"/system.slice/docker-" ID ".service", "-"},
		{"/system.slice/docker-4f9d2a6b.scope", "-"},
		{"/system.slice/var-lib-docker-overlay2-" ID "-merged.mount", "-"},
		{"/system.slice/run-docker-runtime\\x2drunc-moby-" ID ".mount", "-"},
		{"/system.slice/" ID ".service", "-"},
		/* A pod is not a container. */
		{"/machine.slice/machine-libpod_pod_" ID ".slice", "-"},
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
	char path[600] = "/lxc/";

	memset(path + 5, 'a', 400);
	assert_int_equal(strlen(plumb_place_of(path).name), 255);
}

static void pods_of_paths(void **state)
{
	static const struct {
		const char *path, *pod, *container;
		bool of_pod;
	} samples[] = {
		/* The kubelet's own driver, and systemd's. */
		{"/kubepods/burstable/pod" POD "/" ID, POD, "4f9d2a6b8c0e", true},
		{"/kubepods/pod" POD "/" ID "/init.scope", POD, "4f9d2a6b8c0e", true},
		{"/kubelet/kubepods/besteffort/pod" POD, POD, "-", false},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_
		 ".slice/cri-containerd-" ID ".scope",
		 POD, "4f9d2a6b8c0e", true},
		{"/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" ID ".scope/container", POD,
		 "4f9d2a6b8c0e", true},
		{"/system.slice/containerd.service/kubepods-besteffort-pod" POD_
		 ".slice:cri-containerd:" ID,
		 POD, "4f9d2a6b8c0e", true},
		/* One that the kubelet has from a file. */
		{"/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" ID,
		 "0123456789abcdef0123456789abcdef", "4f9d2a6b8c0e", true},
		/* kind: a node that is a container; and Docker in a pod. */
		{"/docker/" OTHER "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" POD_
		 ".slice/cri-containerd-" ID ".scope",
		 POD, "4f9d2a6b8c0e", true},
		{"/docker/" OTHER "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" POD_
		 ".slice",
		 POD, "aa11bb22cc33", false},
		{"/kubepods/pod" POD "/" ID "/docker/" OTHER, POD, "aa11bb22cc33", true},
		/* Podman's pods. */
		{"/machine.slice/machine-libpod_pod_" OTHER ".slice/libpod-" ID ".scope", OTHER,
		 "4f9d2a6b8c0e", true},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_" OTHER
		 ".slice",
		 OTHER, "-", false},
		/* None, whatever they look like. */
		{"/docker/" ID, "", "4f9d2a6b8c0e", false},
		{"/kubepods.slice/kubepods-burstable.slice", "", "-", false},
		{"/kubepods/burstable", "", "-", false},
		{"/pods/pod" POD "/" ID, "", "4f9d2a6b8c0e", false},
		{"/kubepods/podcast", "", "-", false},
		{"/kubepods.slice/kubepods-podcast.slice", "", "-", false},
		{"/system.slice/mykubepods-pod" POD_ ".slice", "", "-", false},
		{"/system.slice/kubepods-pod" POD_ ".service", "", "-", false},
		{"/machine.slice/machine-libpod_pod_0123.slice", "", "-", false},
	};

	for (size_t i = 0; i < LENGTH(samples); i++) {
		const struct plumb_place p = plumb_place_of(samples[i].path);

		check(!strcmp(p.pod, samples[i].pod), "%s: pod %s", samples[i].path, p.pod);
		check(!strcmp(shown(samples[i].path), samples[i].container), "%s: container %s",
		      samples[i].path, shown(samples[i].path));
		check(p.of_pod == samples[i].of_pod, "%s: %d", samples[i].path, p.of_pod);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runtimes),
		cmocka_unit_test(the_innermost_of_nested_ones),
		cmocka_unit_test(none),
		cmocka_unit_test(the_escapes_of_systemd_are_undone),
		cmocka_unit_test(names_are_cut_to_their_room),
		cmocka_unit_test(pods_of_paths),
	};

	return run_all(tests);
}
