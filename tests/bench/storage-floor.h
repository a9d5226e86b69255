/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* What the programs do: nothing, or read the clock, which no latency tool can omit. */
enum floor_step { FLOOR_EMPTY, FLOOR_CLOCK, FLOOR_STEPS };
