# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# The disk with an xfs, whose contents are copied.

# shellcheck source=files.sh
. "$here/machines/files.sh"
