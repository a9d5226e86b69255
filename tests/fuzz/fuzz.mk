# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The readers of files that may be hostile, with clang's fuzzer and sanitizers.
# An empty list is NULL, and its end NULL + 0: to the sanitizer an overflow.
# Parts of the library that the readers are in and use; one that uses another does not link.
FUZZED_PARTS := core functions kernel symbols terminal user
FUZZED := $(patsubst tools/%.c,$(B)/fuzz/%.o,$(wildcard $(FUZZED_PARTS:%=tools/lib/%/*.c)) $(IMAGES) $(REPORTS))
FUZZ_FLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=undefined
$(B)/fuzz/%.o: tools/%.c $(B)/flags | $(FUZZ_FOLDERS) $(B)/gen/syscalls-native.inc $(B)/gen/syscalls-compat.inc $(B)/gen/tools.inc $(SCRIPTS) $(LIBBPF_A)
	$(call say,CC,$@)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link $(FLAGS) -Itools/$(firstword $(subst /, ,$*)) -c $< -o $@

$(B)/fuzz/lib.a: $(FUZZED) | $(CAPSTONE)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/fuzz/%: tests/fuzz/%.c $(B)/fuzz/lib.a
	$(call say,CC,$@)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer $(FLAGS) -Itools/probe-check -Itools/hist-merge -MF $(B)/fuzz/$*.d $< $(B)/fuzz/lib.a $(LIBS) -o $@

# make fuzz FUZZ_SECONDS=86400
FUZZ_SECONDS ?= 3600
fuzz: $(B)/fuzz/files $(B)/fuzz/kallsyms $(B)/fuzz/maps $(B)/fuzz/reports $(B)/fuzz/usdt-arguments
	tests/trust/fuzz.t $(FUZZ_SECONDS)
