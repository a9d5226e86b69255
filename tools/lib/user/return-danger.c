/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/user/return-danger.h>

#include <string.h>
#include <plumb/symbols/elffile.h>
#include <plumb/user/mappings.h>
#include <plumb/user/uprobe-defects.h>

struct search {
	const struct plumb_options *o;
	bool found;
};

static void set_true(void *context, pid_t pid, const struct plumb_vma *area)
{
	*(bool *)context = true;
}

/* Sets FOUND of CONTEXT if the process is traced and has the run-time library of C++. */
static void look_for_cxx(void *context, pid_t pid, const struct plumb_vma *area)
{
	static const char *const libraries[] = {"libstdc++", "libc++", "libc++abi"};
	struct search *s = context;
	bool is_traced = !s->o->n_pids || s->o->follow;

	for (size_t i = 0; i < s->o->n_pids; i++)
		is_traced |= s->o->pids[i] == (uint32_t)pid;
	for (size_t i = 0; is_traced && i < sizeof(libraries) / sizeof(*libraries); i++)
		plumb_mappings_find(pid, &(struct plumb_mapped){.name = libraries[i]}, set_true,
				    &s->found);
}

/* Two processes that are made once tell. */
static const char *danger_of_kernel(void)
{
	static int is_filtered = -1;

	if (is_filtered < 0)
		is_filtered = plumb_uretprobe_is_filtered();
	return is_filtered ? "this kernel's return probes end processes whose seccomp filter "
			     "refuses the system call uretprobe"
			   : NULL;
}

int plumb_return_danger(struct plumb_user_file *f, const struct plumb_options *o)
{
	struct plumb_return_danger *danger = &f->danger;
	const bool is_c = plumb_elf_is_c_library(f->shown);
	struct search cxx = {.o = o};
	struct plumb_elf file;
	int err = plumb_elf_open_fd(f->fd, f->shown, &file);

	*danger = (struct plumb_return_danger){.is_go = !err && plumb_elf_is_go(file.elf)};
	if (err || danger->is_go)
		goto close;
	if (!is_c)
		plumb_mappings_find(0, &(struct plumb_mapped){.inode = f->st.st_ino}, look_for_cxx,
				    &cxx);
	if (plumb_elf_unwinds(file.elf))
		danger->certain = "an exception through its return probe would end the program";
	else if (plumb_elf_switches_stacks(file.elf))
		danger->certain = "it switches stacks, which return probes do not survive";
	else if (cxx.found)
		danger->possible = "C++ is loaded, and an exception through its return probe "
				   "would end the program";
	else if (!is_c && plumb_elf_may_unwind(file.elf))
		danger->possible = "C++ may be loaded later, and an exception through its return "
				   "probe would end the program";
	if (!danger->certain && !danger->possible)
		danger->of_kernel = danger_of_kernel();
close:
	plumb_elf_close(&file);
	return err;
}

static bool is_cancellation_point(const char *name)
{
	static const char *const points[] = {
		"accept",
		"accept4",
		"clock_nanosleep",
		"connect",
		"fdatasync",
		"fsync",
		"msync",
		"nanosleep",
		"pause",
		"poll",
		"ppoll",
		"pread",
		"pread64",
		"pselect",
		"pthread_cond_timedwait",
		"pthread_cond_wait",
		"pthread_join",
		"pwrite",
		"pwrite64",
		"read",
		"readv",
		"recv",
		"recvfrom",
		"recvmsg",
		"select",
		"sem_timedwait",
		"sem_wait",
		"send",
		"sendmsg",
		"sendto",
		"sigsuspend",
		"sigtimedwait",
		"sigwait",
		"sigwaitinfo",
		"sleep",
		"tcdrain",
		"usleep",
		"wait",
		"waitid",
		"waitpid",
		"write",
		"writev",
	};

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		if (!strcmp(name, points[i]))
			return true;
	return false;
}

void plumb_find_cancellation_points(struct plumb_userfuncs *found)
{
	if (!plumb_elf_is_c_library(found->path))
		return;
	for (size_t i = 0; i < found->n; i++)
		if (is_cancellation_point(found->list[i].name))
			found->list[i].return_caveat = "threads of C++ that are cancelled there do "
						       "not run their destructors";
}
