// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* renamer: a thread that changes its name between calls. */
#include "workload.h"

const char usage[] = "Usage: renamer NAME:N...\n"
		     "Take each NAME in turn and call getppid N times under it. In NAME, %d is "
		     "replaced by 0 to\n"
		     "N - 1, one call each: N names.\n"
		     "\n"
		     "Gates: ready, go.\n";

struct round {
	char *name;
	uint64_t n;
};

static void parse_round(char *text, struct round *r)
{
	char *n = strrchr(text, ':');

	if (!n || n == text)
		misuse("'%s' is not NAME:N", text);
	*n++ = 0;
	r->n = parse_number(n, "N", 0, 1000000);
	r->name = text;
	if (strlen(text) > 15)
		misuse("'%s' has more than 15 bytes", text);
}

static void visit(const char *name, uint64_t n)
{
	uint64_t i;

	rename_self(name);
	for (i = 0; i < n; i++)
		syscall(SYS_getppid);
	put_plain_row("getppid", n, 0);
}

static void play(const struct round *r)
{
	char *number = strstr(r->name, "%d");
	char name[64];
	uint64_t i;

	if (!number) {
		visit(r->name, r->n);
		return;
	}
	for (i = 0; i < r->n; i++) {
		snprintf(name, sizeof(name), "%.*s%llu%s", (int)(number - r->name), r->name,
			 (unsigned long long)i, number + 2);
		visit(name, 1);
	}
}

int main(int argc, char **argv)
{
	struct round *rounds;
	int i;

	help_if_asked(argc, argv);
	if (argc < 2)
		misuse("a NAME:N is needed");
	rounds = calloc(argc, sizeof(*rounds));
	if (!rounds)
		die("no memory");
	for (i = 1; i < argc; i++)
		parse_round(argv[i], &rounds[i]);
	reached("ready");
	gate("go");
	report_begin();
	for (i = 1; i < argc; i++)
		play(&rounds[i]);
	report_end();
	return 0;
}
