# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What tracing costs; the Makefile says what each of these measures.
bench: bench-accuracy
	$(Q)$(MAKE) bench-syscalls
	$(Q)$(MAKE) bench-functions
	$(Q)$(MAKE) bench-users
	$(Q)$(MAKE) bench-switches
	$(Q)$(MAKE) bench-stacks
	$(Q)$(MAKE) bench-events
	$(Q)$(MAKE) bench-interrupts
	$(Q)$(MAKE) bench-storage
	$(Q)$(MAKE) bench-servers
	$(Q)$(MAKE) bench-probes
	$(Q)$(MAKE) bench-merge
	$(Q)$(MAKE) bench-keep
bench-accuracy: $(B)/bin/syscall-latency workloads
	tests/bench/accuracy --build=$(B)
bench-keep: $(B)/bin/syscall-latency
	tests/bench/keep --build=$(B) $(BENCH)
bench-syscalls: all workloads $(B)/bench/floor $(B)/bench/spin
	tests/bench/run --build=$(B) $(BENCH)
bench-functions: $(B)/bin/func-latency $(B)/bench/function-floor $(B)/bench/spin
	tests/bench/functions --build=$(B) $(BENCH)
bench-users: $(B)/bin/user-func-latency $(B)/bench/function-floor $(B)/bench/spin $(B)/bench/many
	tests/bench/users --build=$(B) $(BENCH)
bench-probes: $(B)/bin/probe-cost $(B)/bench/spin
	tests/bench/probes --build=$(B) $(BENCH)
bench-switches: all $(B)/bench/switch-floor $(B)/bench/pingpong $(B)/bench/spin
	tests/bench/switches --build=$(B) $(BENCH)
bench-stacks: all $(B)/bench/deep $(B)/bench/deep-fp $(B)/bench/pingpong
	tests/bench/stacks --build=$(B) $(BENCH)
bench-events: all workloads $(B)/bench/event-floor
	tests/bench/events $(BENCH)
bench-interrupts: $(B)/bin/irq-latency $(B)/bench/event-floor
	tests/bench/interrupts --build=$(B) $(BENCH)
bench-storage: all $(B)/bench/storage-floor $(B)/bench/storage-load $(B)/bench/function-floor $(B)/bench/switch-floor $(B)/bench/pingpong
	tests/bench/storage --build=$(B) $(BENCH)
bench-servers: all $(B)/bench/event-floor
	tests/bench/servers --build=$(B) $(BENCH)
bench-merge: $(B)/bin/hist-merge
	tests/bench/merge --build=$(B) $(BENCH)

.PHONY: bench bench-accuracy bench-syscalls bench-functions bench-users bench-probes bench-switches bench-stacks bench-events bench-interrupts bench-storage bench-servers bench-merge bench-keep
