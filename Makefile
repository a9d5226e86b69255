# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# make            the tools, static and stripped, in build/bin
# make DYNAMIC=1  the same, linked to shared libraries, in build/bin
# make check      all tests (what they need is installed by scripts/check.sh)
# make bench      what tracing costs, beside its peers
# make install    DESTDIR= prefix= sbindir= mandir=
#
# A tool is a folder in tools/ with NAME.c, NAME.bpf.c and NAME.rst: no line here.

CC       ?= gcc
CLANG    ?= clang
BPFTOOL  ?= /usr/sbin/bpftool
STRIP    ?= strip
RST2MAN  ?= rst2man
CFLAGS   ?= -O2 -g
prefix   ?= /usr/local
sbindir  ?= $(prefix)/sbin
mandir   ?= $(prefix)/share/man
completionsdir ?= $(prefix)/share/bash-completion/completions

VERSION  := 0.1.0
TARGET   := $(shell $(CC) -dumpmachine)
MULTIARCH := $(TARGET)
ARCH     := $(if $(filter aarch64%,$(TARGET)),arm64,$(if $(filter x86_64%,$(TARGET)),x86,\
	$(error no support for $(TARGET): x86_64 and aarch64 only)))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s%s\n' $(1) $(2))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

include libbpf/libbpf.mk
include vmlinux/vmlinux.mk

TOOLS    := $(filter-out lib,$(notdir $(wildcard tools/*)))
BINARIES := $(TOOLS:%=build/bin/%)
PAGES    := $(TOOLS:%=build/man/%.8)
LIB      := $(patsubst tools/lib/%.c,build/lib/%.o,$(wildcard tools/lib/*.c))
WORKLOADS := $(patsubst tests/workloads/%.c,build/tests/%,$(wildcard tests/workloads/*.c))
UNITS    := $(patsubst tests/unit/%.c,build/unit/%,$(wildcard tests/unit/*.c))

# The project's own flags; CFLAGS and LDFLAGS are the builder's.
WARN     := -Wall -Wextra -Werror
FLAGS    := -std=gnu11 -D_GNU_SOURCE -DPLUMB_VERSION='"$(VERSION)"' -Iinclude -Ibuild/gen \
	-ffunction-sections -fdata-sections -ffile-prefix-map=$(CURDIR)/= $(WARN) $(LIBBPF_CFLAGS) -MMD -MP
BPF_FLAGS := -target bpf -mcpu=v3 -O2 -g -D__TARGET_ARCH_$(ARCH) -Iinclude -Ibuild \
	-ffile-prefix-map=$(CURDIR)/= $(WARN) $(LIBBPF_BPF_CFLAGS) -MMD -MP
LINK     := -Wl,--gc-sections $(if $(DYNAMIC),,-static)
LIBS     := $(LIBBPF_LIBS) -lelf -lz -ljansson

all: $(BINARIES) $(PAGES)

build build/bin build/lib build/gen build/man build/bpf build/tests build/unit:
	$(Q)mkdir -p $@

# A change of these flags is a change of everything.
build/flags: FORCE | build
	$(Q)echo '$(CC) $(CFLAGS) $(LDFLAGS) $(LINK) $(CLANG) $(VERSION)' | cmp -s - $@ || \
		echo '$(CC) $(CFLAGS) $(LDFLAGS) $(LINK) $(CLANG) $(VERSION)' > $@
FORCE:

# --- BPF side: object, then skeleton ---
build/bpf/%.bpf.o: build/vmlinux.h build/flags | build/bpf
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_FLAGS) -c $(filter %.bpf.c,$(wildcard tools/*/$*.bpf.c tests/*/$*.bpf.c)) -o $@.tmp \
		-MF build/bpf/$*.bpf.d -MT $@
	$(Q)$(BPFTOOL) gen object $@ $@.tmp && rm $@.tmp

build/gen/%.skel.h: build/bpf/%.bpf.o | build/gen
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf > $@

# --- names of system calls, from the kernel's headers ---
SYSCALL_MACROS = sed -nE 's/^\#define __NR_([a-z0-9_]+) .*/\1/p' | grep -vxE 'syscalls|arch_specific_syscall|Linux|.*_syscalls' | sort
build/gen/syscalls-native.inc: build/flags | build/gen
	$(call say,GEN,$@)
	$(Q)echo '#include <asm/unistd.h>' | $(CC) -E -dM - | $(SYSCALL_MACROS) | \
		sed 's/.*/[__NR_&] = "&",/' > $@
# Numbers, not macros: the two tables share their macros' names.
build/gen/syscalls-compat.inc: build/flags | build/gen
	$(call say,GEN,$@)
	$(Q)echo '#include <asm/unistd_32.h>' | $(CC) -E -dM - 2>/dev/null | \
		sed -nE 's/^#define __NR_([a-z0-9_]+) ([0-9]+)$$/[\2] = "\1",/p' | sort > $@ || true

# --- loader side ---
build/lib/%.o: tools/lib/%.c build/flags | build/lib build/gen/syscalls-native.inc build/gen/syscalls-compat.inc
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -c $< -o $@

build/lib/libplumb.a: $(LIB)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIB)

define tool_rules
build/lib/$(1).main.o: tools/$(1)/$(1).c build/flags $(patsubst tools/$(1)/%.bpf.c,build/gen/%.skel.h,$(wildcard tools/$(1)/*.bpf.c)) | build/lib
	$$(call say,CC,$$@)
	$(Q)$$(CC) $$(CFLAGS) $$(FLAGS) -Itools/$(1) -c $$< -o $$@
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rules,$(t))))

build/bin/%: build/lib/%.main.o build/lib/libplumb.a $(LIBBPF_A) build/flags | build/bin
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(LINK) $< build/lib/libplumb.a $(LIBS) -o $@.tmp
	$(Q)$(STRIP) $@.tmp && mv $@.tmp $@

# --- manual pages ---
build/man/%.8: tools/%/*.rst tools/lib/options.rst | build/man
	$(call say,MAN,$@)
	$(Q)$(RST2MAN) --no-datestamp tools/$*/$*.rst $@ 2>/dev/null || $(RST2MAN) tools/$*/$*.rst $@

# --- tests ---
build/tests/%: tests/workloads/%.c build/flags | build/tests
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE $(WARN) -MMD -MP -MF build/tests/$*.d -static -pthread $< -o $@

build/unit/%: tests/unit/%.c build/lib/libplumb.a $(LIBBPF_A) | build/unit
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -MF build/unit/$*.d $< build/lib/libplumb.a $(LIBS) -lcmocka -o $@

workloads: $(WORKLOADS)
check: all workloads $(UNITS)
	tests/run

install: all
	install -d $(DESTDIR)$(sbindir) $(DESTDIR)$(mandir)/man8 $(DESTDIR)$(completionsdir)
	install -m 0755 $(BINARIES) $(DESTDIR)$(sbindir)
	install -m 0644 $(PAGES) $(DESTDIR)$(mandir)/man8

clean:
	rm -rf build

.PHONY: all check bench install clean workloads FORCE

-include $(wildcard build/*/*.d)
