/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* audit who: who runs the tool, where, and how it was called. */
#ifndef AUDIT_WHO_H
#define AUDIT_WHO_H

#include <jansson.h>

/* The members that all records of a run have. */
json_t *plumb_audit_who(const char *tool);

#endif
