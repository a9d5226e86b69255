// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// chain: leaf() makes no frame; its callers are known.
package main

import "time"

//go:noinline
func leaf(n int) int {
	s := 0
	for i := 0; i < n; i++ {
		s = s*31 + i
	}
	return s
}

//go:noinline
func middle(n int) int { return leaf(n) + 1 }

//go:noinline
func other(n int) int { return leaf(n) + 2 }

func main() {
	s := 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		s += middle(20000) + other(20000)
	}
	println(s)
}
