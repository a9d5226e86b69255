/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* goroutine: what loaders and programs of Go functions share. */
#ifndef PLUMB_GOROUTINE_H
#define PLUMB_GOROUTINE_H

#include <plumb/bpf/core/types.h>

/* Arguments, the first of a call of a Go function, that are in registers. */
#define PLUMB_GO_ARGS 9

#endif
