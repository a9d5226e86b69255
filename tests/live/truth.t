#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The truth tests on the running kernel: all groups, or TRUTH_GROUPS.
exec "$(dirname "$0")/../truth/drive" ${TRUTH_GROUPS:+"--only=$TRUTH_GROUPS"}
