/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* outputs: the files that monitoring systems take, --openmetrics and --otlp: their options. */
#pragma once

#include <plumb/core/options.h>
#include <plumb/core/part.h>
#include <plumb/core/tool.h>
#include <plumb/outputs/ladder.h>

/* As the command line has them. */
extern struct outputs {
	const char *openmetrics, *otlp; /* files; NULL: not written */
	const char *le;                 /* as typed; NULL: the default ladder */
	struct plumb_ladder times, sizes;
} outputs;

/* Members of the part. */
extern const struct plumb_option outputs_options[];
bool outputs_has(const struct plumb_tool *tool);
void outputs_complete(struct plumb_options *o, const struct plumb_tool *tool);
