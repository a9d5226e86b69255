/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

struct twice_counts {
	__u64 walked;     /* stacks */
	__u64 recognised; /* of them, as what they are */
	__u64 mistaken;   /* as what they are not */
};
