/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hook-names: the hooks of an attached mechanism, as the report names them. */
#pragma once

struct plumb_instance;

/* The functions that are attached to, unless the mechanism has names, and the switches. */
void plumb_name_hooks(struct plumb_instance *in);
