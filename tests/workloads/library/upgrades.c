// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* upgrades: a program that calls a function of a library that it loads. */
#include "../workload.h"
#include <dlfcn.h>

const char usage[] =
	"Usage: upgrades LIBRARY N [PAUSE]\n"
	"Call upgrade_work() of LIBRARY N times, PAUSE (0) microseconds after each, and\n"
	"then upgrade_indirect() as often.\n"
	"\n"
	"Gates: ready (the library is loaded), go; called; leave.\n";

int main(int argc, char **argv)
{
	uint64_t n, pause;
	int (*work)(int), (*indirect)(int);
	void *library;

	help_if_asked(argc, argv);
	if (argc < 3 || argc > 4)
		misuse("LIBRARY and N are needed");
	n = parse_number(argv[2], "N", 1, 10000000);
	pause = argc > 3 ? parse_number(argv[3], "PAUSE", 0, 1000000) : 0;
	library = dlopen(argv[1], RTLD_NOW);
	work = library ? (int (*)(int))dlsym(library, "upgrade_work") : NULL;
	indirect = library ? (int (*)(int))dlsym(library, "upgrade_indirect") : NULL;
	if (!work || !indirect)
		die("%s", dlerror());
	reached("ready");
	gate("go");
	for (uint64_t i = 0; i < n; i++) {
		work(i % 8);
		if (pause)
			pause_ns(pause * 1000);
	}
	for (uint64_t i = 0; i < n; i++)
		indirect(i % 8);
	report_begin();
	put_row_of("function", own_tid(), "upgrades", "upgrade_work", n, 0);
	put("}");
	report_end();
	reached("called");
	gate("leave");
	return 0;
}
