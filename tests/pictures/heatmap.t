#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A heat map and a chart of a run with one long call, looked at in a browser.

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$work"
# The picture shows the command line.
"$top/build/bin/syscall-latency" -s getppid,clock_nanosleep -c 'python3,<i>&"]]></i>' -b syscall --split -j \
	--heatmap=heat.svg --chart=chart.svg -- /usr/bin/python3 -c '
import os, time
begin = time.monotonic()
while time.monotonic() < begin + 3:
	for i in range(1000):
		os.getppid()
	time.sleep(0.001)
	if begin and time.monotonic() > begin + 1.5:
		time.sleep(0.4)
		begin -= 1.1
' >report 2>err
"$top/build/bin/syscall-latency" -c no-such-name --heatmap=none.svg --chart=nothing.svg -d 0.3 >out 2>err
/usr/bin/python3 "$here/heatmap.py" heat.svg chart.svg report none.svg nothing.svg
