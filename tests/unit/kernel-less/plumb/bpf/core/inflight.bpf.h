/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inflight, for unit tests: frames need nothing of it. */
#pragma once
