/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * deep: computes below FRAMES frames of one function, until it is ended.  It is compiled with frame
 * pointers, and without.
 */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long sink, over;

__attribute__((noinline)) static void descend(int more)
{
	volatile char room[64];

	room[0] = more;
	if (more)
		descend(more - 1);
	else
		while (!over)
			sink += room[0];
	sink++;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("Usage: deep FRAMES\n", stderr);
		return 2;
	}
	descend(atoi(argv[1]));
	return 0;
}
