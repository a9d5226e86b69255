// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* binary: which file a name stands for, on a system of a few files made for it. */
#include "said.h"
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <plumb/symbols/binary.h>

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#else
#define TRIPLET "aarch64-linux-gnu"
#endif

static char root[] = "/tmp/binary.XXXXXX";
static Elf64_Ehdr ours, other, narrow;

/* PATH, which has no blanks, below the root. */
static void make(const char *path, const void *data, size_t size, int mode)
{
	char command[512];
	FILE *f;

	snprintf(command, sizeof(command), "mkdir -p $(dirname .%s)", path);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), ".%s", path);
	f = fopen(command, "w");
	assert_non_null(f);
	fwrite(data, 1, size, f);
	assert_int_equal(fclose(f), 0);
	chmod(command, mode);
}

static void text(const char *path, const char *words)
{
	make(path, words, strlen(words), 0644);
}

static void library(const char *path)
{
	make(path, &ours, sizeof(ours), 0644);
}

static int make_system(void **state)
{
	FILE *self = fopen("/proc/self/exe", "r");

	if (!self || fread(&ours, sizeof(ours), 1, self) != 1 || !mkdtemp(root) || chdir(root))
		return -1;
	fclose(self);
	other = narrow = ours;
	other.e_machine ^= 0x40;
	narrow.e_ident[EI_CLASS] = ELFCLASS32;
	text("/etc/ld.so.conf",
	     "# words\nhwcap 1 nosegneg\n  include /etc/ld.so.conf.d/*.conf #\n"
	     "include beside/*.conf none/*.conf # ld.so.conf.d/c.disabled\n/opt/last\nrelative\n");
	text("/here", "");
	text("/etc/ld.so.conf.d/a.conf", "/opt/first\n\n/opt/missing\n");
	text("/etc/ld.so.conf.d/b.conf", "include /etc/ld.so.conf.d/b.conf\n\t/opt/second\n");
	text("/etc/ld.so.conf.d/c.disabled", "/opt/disabled\n");
	text("/etc/ld.so.conf.d/.hidden.conf", "/opt/disabled\n");
	text("/etc/beside/x.conf", "/opt/beside");
	library("/opt/second/libtwice.so.1");
	library("/opt/first/libtwice.so.2");
	library("/opt/second/libsecond.so");
	library("/opt/beside/libbeside.so.5");
	library("/opt/last/liblast.so.3");
	library("/usr/lib/liblast.so.3");
	library("/opt/disabled/libdisabled.so.1");
	library("/relative/librelative.so.1");
	library("/usr/lib/" TRIPLET "/liblinked.so.1.2.3");
	library("/usr/lib/" TRIPLET "/liblinked-extra.so.1");
	library("/usr/lib/" TRIPLET "/liblinked.something");
	library("/lib64/libold.so.1");
	library("/lib64/libold.so.2");
	library("/usr/local/lib/libforeign.so.1");
	make("/opt/first/libforeign.so.1", &other, sizeof(other), 0644);
	make("/opt/second/libforeign.so.1", &narrow, sizeof(narrow), 0644);
	text("/opt/last/libforeign.so", "INPUT(libforeign.so.1)\n");
	text("/opt/last/libscript.so", "INPUT(libforeign.so.1)\n");
	library("/usr/lib/tool/plugin.so");
	make("/bin/tool", &ours, sizeof(ours), 0755);
	make("/sbin/tool", &ours, sizeof(ours), 0755);
	make("/bin/plain", "no program\n", 11, 0644);
	make("/sbin/plain", "#!/bin/sh\n", 10, 0755);
	return symlink("liblinked.so.1.2.3", "usr/lib/" TRIPLET "/liblinked.so.1") ||
	       symlink("liblinked.so.1", "usr/lib/" TRIPLET "/liblinked.so") ||
	       symlink("/bin/tool", "bin/called");
}

static int remove_system(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return chdir("/") || system(command);
}

/* Who is not root may change the root directory in a user namespace, where that is allowed. */
static bool may_unshare(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(unshare(CLONE_NEWUSER) != 0);
	return waitpid(pid, &status, 0) == pid && !status;
}

/* The path that NAME stands for there, or what is said. */
static const char *find(const char *name)
{
	static char answer[4096];
	char *path;
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		if ((geteuid() && unshare(CLONE_NEWUSER)) || chroot(root) || chdir("/") ||
		    setenv("PATH", "/none:/bin:/sbin", 1))
			_exit(1);
		listen_to_stderr();
		status = plumb_binary_find(name, &path);
		dprintf(ends[1], "%s", status ? said() : path);
		_exit(!status != !!path);
	}
	close(ends[1]);
	n = read(ends[0], answer, sizeof(answer) - 1);
	answer[n > 0 ? n : 0] = 0;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	check(!status, "%s: %s", name, answer);
	return answer;
}

static void libraries_are_found_in_the_linkers_order(void **state)
{
	assert_string_equal(find("libtwice"), "/opt/first/libtwice.so.2");
	assert_string_equal(find("libtwice.so.1"), "/opt/second/libtwice.so.1");
	assert_string_equal(find("libsecond"), "/opt/second/libsecond.so");
	assert_string_equal(find("libsecond.so"), "/opt/second/libsecond.so");
	assert_string_equal(find("libbeside"), "/opt/beside/libbeside.so.5");
	assert_string_equal(find("liblast"), "/opt/last/liblast.so.3");
}

static void links_to_one_file_are_one_library(void **state)
{
	static const char file[] = "/usr/lib/" TRIPLET "/liblinked.so.1.2.3";

	assert_string_equal(find("liblinked"), file);
	assert_string_equal(find("liblinked.so"), file);
	assert_string_equal(find("liblinked.so.1"), file);
	assert_string_equal(find("liblinked.so.1.2.3"), file);
}

static void several_files_of_one_name_are_an_error(void **state)
{
	const char *words = find("libold");

	assert_non_null(strstr(words, "library libold: use a path: "));
	assert_non_null(strstr(words, "/lib64/libold.so.1"));
	assert_non_null(strstr(words, "/lib64/libold.so.2"));
	assert_string_equal(find("libold.so.2"), "/lib64/libold.so.2");
}

static void what_cannot_be_loaded_here_is_passed_over(void **state)
{
	assert_string_equal(find("libforeign"), "/usr/local/lib/libforeign.so.1");
	assert_non_null(strstr(find("libscript"), "no library or program is named libscript\n"));
	assert_non_null(strstr(find("libdisabled"), "no library or program"));
	assert_non_null(strstr(find("librelative"), "no library or program"));
}

static void programs_are_found_in_path(void **state)
{
	assert_string_equal(find("tool"), "/bin/tool");
	assert_string_equal(find("called"), "/bin/tool");
	assert_string_equal(find("plain"), "/sbin/plain");
	assert_non_null(strstr(find("too"), "no library or program is named too\n"));
	assert_non_null(strstr(find("libtwic"), "no library or program is named libtwic\n"));
	assert_non_null(strstr(find("here"), "is named here; did you mean ./here?\n"));
}

static void paths_are_left_as_they_are(void **state)
{
	assert_string_equal(find("/bin/called"), "/bin/called");
	assert_string_equal(find("./bin/called"), "./bin/called");
	assert_string_equal(find("/no/such"), "/no/such");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries_are_found_in_the_linkers_order),
		cmocka_unit_test(links_to_one_file_are_one_library),
		cmocka_unit_test(several_files_of_one_name_are_an_error),
		cmocka_unit_test(what_cannot_be_loaded_here_is_passed_over),
		cmocka_unit_test(programs_are_found_in_path),
		cmocka_unit_test(paths_are_left_as_they_are),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (geteuid() && !may_unshare()) {
		puts("1..0 # SKIP takes root, or user namespaces");
		return 0;
	}
	return cmocka_run_group_tests(tests, make_system, remove_system);
}
