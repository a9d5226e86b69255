// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* plumb: all tools in one program, by its own name or its first argument. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>
#include <plumb/terminal/suggest.h>

#define TOOL(name, function) int function(int argc, char **argv);
#include "single-tools.inc"
#undef TOOL

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} tools[] = {
#define TOOL(name, function) {name, function},
#include "single-tools.inc"
};

#define N_TOOLS (sizeof(tools) / sizeof(tools[0]))

static const char help[] =
	"Usage: plumb TOOL [ARGUMENT...]\n"
	"Linux tracing tools in one file, each also by a link of its name.\n"
	"plumb TOOL --help has the tool's options.\n"
#include "single-help.inc"
	;

/* -1: there is no tool of that name. */
static int find(const char *name)
{
	for (size_t i = 0; i < N_TOOLS; i++)
		if (!strcmp(tools[i].name, name))
			return i;
	return -1;
}

static int refuse(const char *name)
{
	const char *names[N_TOOLS], *nearest;

	for (size_t i = 0; i < N_TOOLS; i++)
		names[i] = tools[i].name;
	nearest = plumb_nearest(name, names, N_TOOLS);
	plumb_usage_error("no such tool: %s%s%s%s", name, nearest ? "; did you mean " : "",
			  nearest ?: "", nearest ? "?" : " (plumb --help lists them)");
}

int main(int argc, char **argv)
{
	int i = find(program_invocation_short_name);

	if (i >= 0)
		return tools[i].main(argc, argv);
	if (argc < 2)
		plumb_usage_error("which tool? (plumb --help lists them)");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		fputs(help, stdout);
		return plumb_close_stdout(0);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("plumb " PLUMB_VERSION);
		return plumb_close_stdout(0);
	}
	i = find(argv[1]);
	if (i < 0)
		return refuse(argv[1]);
	/* Messages begin with the tool's name. */
	program_invocation_name = program_invocation_short_name = argv[1];
	return tools[i].main(argc - 1, argv + 1);
}
