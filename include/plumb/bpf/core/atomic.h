/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * atomic: additions whose result is not used.
 *
 * LLVM from 20 on makes them an instruction that fetches, which kernels before 5.12 do not have,
 * unless they are relaxed; LLVM 14 cannot compile some that are.
 */
#pragma once

#if __clang_major__ >= 20
#define atomic_add(at, n) ((void)__atomic_fetch_add(at, n, __ATOMIC_RELAXED))
#else
#define atomic_add(at, n) ((void)__sync_fetch_and_add(at, n))
#endif
