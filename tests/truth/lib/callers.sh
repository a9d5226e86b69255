# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2034
# Times of calls against those of a caller that knows which of its own are longer than the call (held).
#
# No call is longer than to its caller. If M of N calls were stopped outside of the call, the one at rank R of all is at
# least as long as the one at rank R - M of the others. There are some that neither can tell: an interrupt that is taken with
# the first instruction after the call, one before the first hook where the kernel can be preempted, and while tools attach, a
# switch that no program sees. Seen were 0 to 1 of 40 waits, so that 2 are allowed at each rank, and 1 in the sum.

callers='def lacks: 2;
	def near($mine; $most; $least; $clock): $mine <= $most * 65 / 64 and $mine >= ($least // 0) * 0.97 - $clock;
	def is_longest($ns; $true): near($ns; $true.max; $true.sure.least["100"][lacks]; $true.clock / $true.count);
	def same_sum($ns; $true): near($ns; $true.sum; $true.sure | .sum - .least["100"][0]; $true.clock);
	def same($row; $true): ($true.clock / $true.count) as $clock | $true.sure.least as $least
		# Above memory.high a thread may also reclaim pages on its way out, on the CPU, which is in no time; only where it
		# sleeps, these are short beside that.
		| (if $true.max < 100000000 and $row.key.syscall == "write" then 1000 else lacks end) as $lacks
		| if $row.count == $true.count and near($row.max; $true.max; $least["100"][$lacks]; $clock)
			and near($row.percentiles["99"]; $true.percentiles["99"]; $least["99"][$lacks]; $clock)
			and near($row.percentiles["99.9"]; $true.percentiles["99.9"]; $least["99.9"][$lacks]; $clock)
			and ($lacks > lacks or same_sum($row.sum; $true))
		then true else error("\($row | del(.hist)), \($true | del(.long))") end;'
