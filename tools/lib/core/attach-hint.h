/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* attach hint: the probable cause of an error of loading or attaching, ", ..."; "": none is known.
 */
#pragma once

#include <plumb/core/hook.h>

const char *plumb_load_hint(int err, enum plumb_hook hook);
const char *plumb_attach_hint(int err, enum plumb_hook hook);
