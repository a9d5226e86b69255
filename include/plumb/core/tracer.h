/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tracer: all that a simple tool includes of the core: its description, options, messages, rows of
 * reports and their JSON, and the features of the running kernel.
 */
#pragma once

#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>
#include <plumb/core/snapshot.h>
#include <plumb/core/tool.h>
#include <plumb/kernel/kernel.h>
