/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ledger, for unit tests: all that frames need is in current. */
#pragma once
