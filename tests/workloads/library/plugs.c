/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * plugs: a C program that loads a library of C++, whose exceptions pass through a function of it.
 *
 *	plugs LIBRARY TIMES
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void plugs_between(void (*function)(void));

__attribute__((noinline)) void plugs_between(void (*function)(void))
{
	function();
	asm volatile("");
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*caught)(void (*)(void (*)(void)), int) = library ? dlsym(library, "plug") : NULL;

	if (!caught) {
		fputs("Usage: plugs LIBRARY TIMES\n", stderr);
		return 2;
	}
	printf("caught %d\n", caught(plugs_between, atoi(argv[2])));
	return 0;
}
