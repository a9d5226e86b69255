# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# make            the tools, static and stripped, in build/bin (linked to shared libraries
#                 where those for static linking are incomplete)
# make DYNAMIC=1  the same, linked to shared libraries
# make STATIC=-static-pie  static, and at another address each time
# make WERROR=1   warnings are errors, as for check
# make check      all tests; what they need is installed by scripts/check.sh
# make check-quick  those that a change most likely breaks, in 2 minutes
# make bench      what tracing costs, beside its peers (bench-accuracy, -syscalls, -functions, -users, -switches, -stacks, -storage, -servers);
#                 bench-probes: what an empty probe costs by probe-cost and by bpftrace; bench-merge: reports of 1,000 hosts; bench-keep: the flight recorder
#                 bench-servers: what PostgreSQL and redis lose (BENCH='-r 3' for three rounds)
# make arm64      the tools and workloads, cross-built in build/arm64, with the types of the newest arm64 kernel;
#                 arm64-tarball and arm64-deb: packages of them, in build/arm64/package
# make docs       build/doc: the examples of all manual pages as one page of HTML, and the file for programs that drive the tools
# make install    DESTDIR= prefix= sbindir= datadir= mandir= docdir= completionsdir= zshcompletionsdir= fishcompletionsdir=
# make install-windows  traces in windows of time, by systemd: also libexecdir= systemdunitdir=
# make dist, tarball, deb, rpm: the sources, the static tools, Debian's and RPM's packages, in build/package
# make sbom       build/plumb.spdx.json: the programs and the libraries that they hold, as SPDX
#
# A tool is a folder in tools/ with NAME.c, NAME.bpf.c, NAME.rst and NAME.schema.json: no line here.
# NAME.schema.json describes what it prints as JSON; NAME.targets, if there is one, what it hooks, for probe-check --tool.
# Other .c files in it and in its folders are linked too; tests/unit/NAME.c and NAME.WHAT.c are their unit tests.

ifeq ($(origin CC),default) # which is not what ?= replaces
CC       := gcc
endif
CLANG    ?= clang
BPFTOOL  ?= /usr/sbin/bpftool
# What a cross compiler's name begins with: CC=aarch64-linux-gnu-gcc comes with others of its kind.
CROSS    := $(patsubst %gcc,%,$(filter %-gcc,$(CC)))
STRIP    ?= $(CROSS)strip
PKG_CONFIG ?= $(CROSS)pkg-config
OBJCOPY  ?= llvm-objcopy
RST2MAN  ?= rst2man
GO       ?= go
ARM32_CC ?= arm-linux-gnueabihf-gcc
MUSL_CC  ?= musl-gcc
# The distribution's: that of rustup in PATH may have no toolchain, and pyenv's takes ten times as long to start.
RUSTC    ?= /usr/bin/rustc
PYTHON   ?= /usr/bin/python3
CFLAGS   ?= -O2 -g
prefix   ?= /usr/local
sbindir  ?= $(prefix)/sbin
datadir  ?= $(prefix)/share
mandir   ?= $(datadir)/man
docdir   ?= $(datadir)/doc/plumb-tools
completionsdir ?= $(datadir)/bash-completion/completions
zshcompletionsdir ?= $(datadir)/zsh/site-functions
fishcompletionsdir ?= $(datadir)/fish/vendor_completions.d

# What is plugged into the tools, in the order in which it is called.  The guard, which obeys a policy, comes last: it gives
# up privileges when all others have what they need.
PARTS    ?= schedule inflight witness containers cost unwind meanwhile disks outputs pictures recorder hints terminal guard

# At random addresses a tool is 6 % larger; it starts no slower.
STATIC   ?= -static

B        ?= build
$(if $(word 2,$(B))$(word 2,$(LIBBPF_SRC)),$(error make takes no path with a space in it: B=$(B) LIBBPF_SRC=$(LIBBPF_SRC)))
VERSION  := 0.2.0
TARGET   := $(shell $(CC) -dumpmachine)
# clang names a vendor, too.
MULTIARCH := $(subst -unknown-,-,$(subst -pc-,-,$(TARGET)))
ARCH     := $(if $(filter aarch64%,$(TARGET)),arm64,$(if $(filter x86_64%,$(TARGET)),x86,\
	$(error no support for $(TARGET): x86_64 and aarch64 only)))

comma := ,
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s%s\n' $(1) $(2))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

include libbpf/libbpf.mk
include vmlinux/vmlinux.mk

ALL      := $(filter-out lib,$(notdir $(wildcard tools/*)))
TOOLS    := $(ALL)
BINARIES := $(TOOLS:%=$(B)/bin/%)
PAGES    := $(TOOLS:%=$(B)/man/%.8)
# Pages that are not of a tool: tools/lib/manual/NAME.SECTION.rst.
MORE_PAGES := $(patsubst tools/lib/manual/%.rst,$(B)/man/%,$(wildcard tools/lib/manual/*.[57].rst))
SCHEMA   := $(B)/plumb-2.schema.json
AUDIT_SCHEMA := $(B)/plumb-audit-1.schema.json
LIB      := $(patsubst tools/lib/%.c,$(B)/lib/%.o,$(wildcard tools/lib/*.c tools/lib/*/*.c))
SCRIPTS  := $(patsubst %,$(B)/gen/%.inc,$(notdir $(wildcard tools/lib/*/*.js tools/*/*.js)))
LAYERS   := $(filter-out $(B)/lib/,$(sort $(dir $(LIB))))
# What probe-check knows of kernel images and programs: it reads files that may be hostile.
IMAGES   := $(wildcard tools/probe-check/image/*.c tools/probe-check/inlining/*.c)
# What hist-merge knows of reports: they may be hostile, too.
REPORTS  := $(wildcard tools/hist-merge/reading/*.c tools/hist-merge/merging/*.c)
FUZZ_FOLDERS := $(LAYERS:$(B)/lib/%=$(B)/fuzz/lib/%) $(patsubst tools/%,$(B)/fuzz/%,$(sort $(dir $(IMAGES) $(REPORTS))))
WORKLOADS := $(patsubst tests/workloads/%.c,$(B)/tests/%,$(wildcard tests/workloads/*.c))
SHOWING  := $(patsubst tests/trust/%.c,$(B)/trust/%,$(wildcard tests/trust/*.c))
UNITS    := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/*.c))

# The project's own flags; CPPFLAGS, CFLAGS and LDFLAGS are the builder's.
WARN     := -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror)
# Debugging information names sources as they are in this tree, wherever it is.
PREFIX_MAP ?= -ffile-prefix-map='$(CURDIR)'=. -ffile-prefix-map=$(B)/=build/
FLAGS    := -std=gnu11 -D_GNU_SOURCE -DPLUMB_VERSION='"$(VERSION)"' -Iinclude -I$(B)/gen \
	-ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables $(PREFIX_MAP) $(WARN) $(CPPFLAGS) $(LIBBPF_CFLAGS) -MMD -MP
# The kernel's own types use Microsoft's unnamed members from 6.19 on, and kfuncs' prototypes changed in 7.0.
BPF_FLAGS := -target bpf -mcpu=v3 -O2 -g -DBPF_NO_KFUNC_PROTOTYPES -fms-extensions -Wno-microsoft -D__TARGET_ARCH_$(ARCH) -Iinclude -I$(B) \
	-fdebug-compilation-dir=. $(WARN) $(LIBBPF_BPF_CFLAGS) -MMD -MP
# libz comes first for its crc32(), which libelf.a may have too, alone: two would not link.
LIBS      = $(CAPSTONE) $(LIBBPF_LIBS) $(if $(DYNAMIC),,-Wl$(comma)-u$(comma)crc32) -lz -ldw -lelf -lz -lbz2 -llzma -lzstd -llz4 -ljansson -lcap -lseccomp -liberty -lcapstone -lm
ifndef DYNAMIC
-include $(B)/static.mk
endif
ifndef DYNAMIC
include capstone/capstone.mk
endif
# A cross compiler has a libc of its own, which gets no security updates: that of the distribution comes first.
LINK     := -Wl,--gc-sections -Wl,-z,noseparate-code $(if $(CROSS),-B/usr/lib/$(MULTIARCH) -L/usr/lib/$(MULTIARCH)) $(if $(DYNAMIC),-Wl$(comma)--as-needed,$(STATIC) $(LESS) -Wl$(comma)-T$(comma)scripts/lib/no-unwinding.ld)

include windows/windows.mk
include scripts/lib/docs.mk

all: $(BINARIES) $(PAGES) $(MORE_PAGES) $(SCHEMA) $(AUDIT_SCHEMA) $(DOCS)
docs: $(DOCS)

$(B) $(B)/bin $(B)/lib $(LAYERS) $(FUZZ_FOLDERS) $(B)/gen $(B)/man $(B)/doc $(B)/bpf $(B)/tests $(B)/unit $(B)/bench $(B)/trust $(B)/fuzz:
	$(Q)mkdir -p $@

# Debian 13's libdw.a needs objects that no archive there has.
PROBED := bpf_object__open cap_get_proc seccomp_init dwarf_begin_elf dwarf_getscopes elf_begin elf_compress inflate cs_open
$(B)/static.mk: | $(B) $(LIBBPF_A)
	$(Q)if { printf 'int %s();\n' $(PROBED); printf 'int main(void) { return 0'; \
			printf ' + %s()' $(PROBED); echo '; }'; } | \
			$(CC) -std=gnu11 -w $(LDFLAGS) $(STATIC) -x c - -x none $(filter-out $(CAPSTONE),$(LIBS)) -o $@.probe >$@.log 2>&1; then \
		: >$@; \
	else \
		echo 'DYNAMIC := 1' >$@; \
		echo "libelf, libdw, libbpf, libcap, libseccomp or capstone do not link statically here ($@.log): building with DYNAMIC=1" >&2; \
	fi; rm -f $@.probe

# A change of these flags is a change of everything that they are for.
$(B)/flags: NOW = $(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) $(VERSION)
$(B)/link-flags: NOW = $(LDFLAGS) $(LINK)
$(B)/bpf-flags: NOW = $(CLANG) $(WARN)
$(B)/flags $(B)/link-flags $(B)/bpf-flags $(B)/parts: FORCE | $(B)
	$(Q)echo '$(NOW)' | cmp -s - $@ || echo '$(NOW)' > $@
FORCE:

# --- BPF side: object, then skeleton ---
include scripts/lib/bpf.mk

# --- names of system calls, from the kernel's headers ---
SYSCALL_MACROS = sed -nE 's/^\#define __NR_([a-z0-9_]+) .*/\1/p' | grep -vxE 'syscalls|arch_specific_syscall|Linux|.*_syscalls' | sort
$(B)/gen/syscalls-native.inc: $(B)/flags | $(B)/gen
	$(call say,GEN,$@)
	$(Q)echo '#include <asm/unistd.h>' | $(CC) -E -dM - | $(SYSCALL_MACROS) | \
		sed 's/.*/[__NR_&] = "&",/' > $@
# Numbers, not macros: the two tables share their macros' names.
$(B)/gen/syscalls-compat.inc: $(B)/flags | $(B)/gen
	$(call say,GEN,$@)
	$(Q)echo '#include <asm/unistd_32.h>' | $(CC) -E -dM - 2>/dev/null | \
		sed -nE 's/^#define __NR_([a-z0-9_]+) ([0-9]+)$$/[\2] = "\1",/p' | sort > $@ || true

# --- what our tools hook, for probe-check --tool ---
$(B)/gen/targets.inc: $(wildcard tools/*/*.targets) $(B)/flags | $(B)/gen
	$(call say,GEN,$@)
	$(Q)awk -F ': ' '!/^#/ && NF > 1 { \
		tool = FILENAME; sub(".*/", "", tool); sub("[.]targets$$", "", tool); \
		printf "{\"%s\", \"%s\", \"%s\"},\n", tool, $$1, $$2 }' $(filter %.targets,$^) >$@

# --- other names of kernel functions, by kernel ---
$(B)/gen/renamed.inc: tools/lib/kernel/renamed.list | $(B)/gen
	$(call say,GEN,$@)
	$(Q)awk '!/^#/ && NF < 4 { print FILENAME ":" FNR ": not NAME OTHER KERNELS" >"/dev/stderr"; exit 1 } !/^#/ { printf "{\"%s\", \"%s\"},\n", $$1, $$2 }' $< >$@

# --- a script that is part of a tool's output, as a C string ---
define script_rule
$(B)/gen/$(notdir $(1)).inc: $(1) | $(B)/gen
	$$(call say,GEN,$$@)
	$(Q)sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $$< > $$@
endef
$(foreach s,$(wildcard tools/lib/*/*.js tools/*/*.js),$(eval $(call script_rule,$(s))))

# --- loader side ---
# The names of all tools, also of those that are not built, for the policy.
$(B)/gen/tools.inc: tools | $(B)/gen
	$(call say,GEN,$@)
	$(Q)printf '"%s",\n' $(ALL) >$@

$(B)/parts: NOW = $(PARTS)
$(B)/gen/parts.inc: $(B)/parts | $(B)/gen
	$(call say,GEN,$@)
	$(Q)for part in $(PARTS); do echo "PART($$part)"; done >$@
$(B)/lib/parts.o $(B)/fuzz/lib/parts.o: $(B)/gen/parts.inc
$(B)/lib/kernel/renamed.o $(B)/fuzz/lib/kernel/renamed.o: $(B)/gen/renamed.inc

$(B)/lib/%.o: tools/lib/%.c $(B)/flags | $(LAYERS) $(B)/gen/syscalls-native.inc $(B)/gen/syscalls-compat.inc $(B)/gen/tools.inc $(SCRIPTS) $(LIBBPF_A)
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -c $< -o $@

$(B)/lib/libplumb.a: $(LIB) $(CAPSTONE)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(CROSS)$(AR) rcs $@ $(LIB)

object_of = $(patsubst tools.%.c,$(B)/lib/%.o,$(subst /,.,$(1)))
define tool_rules
SOURCES_$(1) := $(filter-out %.bpf.c,$(wildcard tools/$(1)/*.c tools/$(1)/*/*.c))
OBJECTS_$(1) := $$(call object_of,$$(SOURCES_$(1)))
$(B)/bin/$(1): $$(OBJECTS_$(1))
$(B)/unit/$(1) $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/$(1).*.c)): $$(filter-out %/$(1).$(1).o,$$(OBJECTS_$(1)))
$$(foreach s,$$(SOURCES_$(1)),$$(eval $$(call object_of,$$(s)): $$(s)))
$$(OBJECTS_$(1)): $(B)/flags $(call skeletons_of,$(1)) | $(B)/lib $(B)/gen/targets.inc $(SCRIPTS) $(LIBBPF_A)
	$$(call say,CC,$$@)
	$(Q)$$(CC) $$(CFLAGS) $$(FLAGS) -Itools/$(1) -c $$(filter %.c,$$^) -o $$@
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rules,$(t))))

$(BINARIES): $(B)/bin/%: $(B)/lib/libplumb.a $(LIBBPF_A) $(B)/flags $(B)/link-flags | $(B)/bin
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(LINK) $(filter %.o,$^) $(B)/lib/libplumb.a $(LIBS) -o $@.tmp
	$(Q)$(STRIP) $@.tmp && mv $@.tmp $@

include single/single.mk

# --- manual pages ---
define page_rule
$(B)/man/$(1).8: tools/$(1)/$(1).rst $(wildcard tools/$(1)/$(1).targets) $(wildcard tools/lib/manual/*.rst) tools/lib/kernel/renamed.list | $(B)/man
	$$(call say,MAN,$$@)
	$(Q)scripts/lib/renamed-names.awk tools/lib/kernel/renamed.list $(wildcard tools/$(1)/$(1).targets) $$< | \
		(cd tools/$(1) && $$(RST2MAN) --halt=2) >$$@
endef
$(foreach t,$(TOOLS),$(eval $(call page_rule,$(t))))
$(MORE_PAGES): $(B)/man/%: tools/lib/manual/%.rst $(wildcard tools/lib/manual/*.rst) | $(B)/man
	$(call say,MAN,$@)
	$(Q)$(RST2MAN) --halt=2 $< $@

# --- the JSON Schema: what the tools share, and each tool's own members ---
$(SCHEMA): include/plumb/bpf/core/ledger.h tools/lib/core/common.schema.json $(foreach t,$(TOOLS),tools/$(t)/$(t).schema.json) scripts/lib/join-schema.py $(wildcard tools/*/*.c) | $(B)
	$(call say,SCHEMA,$@)
	$(Q)$(PYTHON) scripts/lib/join-schema.py $(filter %.h %.schema.json,$^) > $@
$(AUDIT_SCHEMA): tools/lib/guard/audit.schema.json | $(B)
	$(call say,SCHEMA,$@)
	$(Q)cp $< $@

# --- tests ---
$(B)/tests/%: tests/workloads/%.c $(B)/flags | $(B)/tests
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE $(WARN) -MMD -MP -MF $(B)/tests/$*.d -static -pthread $< -o $@

# As distributions for arm64 build programs: return addresses on the stack are signed.
$(B)/tests/unwound: CFLAGS += $(if $(filter arm64,$(ARCH)),-mbranch-protection=standard)

# Two versions of a library, and a program that loads it.
LOADED := $(addprefix $(B)/tests/,libupgrade.1.so libupgrade.2.so upgrades throws leaves contexts-pie plugs libplug.so python-calls \
	$(if $(shell command -v $(GO)),gofuncs) \
	$(if $(CROSS),,$(if $(shell command -v $(RUSTC)),rustfuncs) $(if $(shell command -v $(MUSL_CC)),musl-userfuncs)) \
	$(if $(filter x86,$(ARCH)),user32 thunks) $(if $(filter arm64,$(ARCH)),$(if $(shell command -v $(ARM32_CC)),arm32)))
$(B)/tests/user32 $(B)/tests/thunks: $(B)/tests/%: tests/workloads/library/%.S $(B)/flags | $(B)/tests
	$(call say,CC,$@)
	$(Q)$(CC) $(if $(filter %32,$@),-m32) -nostdlib -static $< -o $@
$(B)/tests/arm32: tests/workloads/library/arm32.c $(B)/flags | $(B)/tests
	$(call say,CC,$@)
	$(Q)$(ARM32_CC) -O1 -marm $(WARN) -ffreestanding -fno-stack-protector -nostdlib -static $< -o $@
$(B)/tests/libupgrade.%.so: tests/workloads/library/upgrade.c $(B)/flags | $(B)/tests
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -std=gnu11 $(WARN) -DVERSION=$* -shared -fPIC -Wl,--build-id $< -o $@
$(B)/tests/throws $(B)/tests/leaves: $(B)/tests/%: tests/workloads/library/%.cc $(B)/flags | $(B)/tests
	$(call say,CXX,$@)
	$(Q)$(CROSS)$(CXX) -O1 -Wall -Wextra -pthread $< -o $@
$(B)/tests/contexts-pie: tests/workloads/contexts.c $(B)/flags | $(B)/tests
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE $(WARN) -fPIE -static-pie -pthread $< -o $@
$(B)/tests/libplug.so: tests/workloads/library/plug.cc $(B)/flags | $(B)/tests
	$(call say,CXX,$@)
	$(Q)$(CROSS)$(CXX) -O1 -Wall -Wextra -shared -fPIC $< -o $@
$(B)/tests/plugs: tests/workloads/library/plugs.c $(B)/flags | $(B)/tests
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -fexceptions $(WARN) $< -ldl -o $@
# Without network, modules and a home; as Go's linker has it, with symbols and without DWARF.
GO_ENVIRONMENT := GO111MODULE=off GOFLAGS= GOENV=off GOTOOLCHAIN=local CGO_ENABLED=0 GOCACHE=$(abspath $(B))/go GOPATH=$(abspath $(B))/go HOME=/nonexistent
$(B)/tests/gofuncs: tests/workloads/library/gofuncs.go | $(B)/tests
	$(call say,GO,$@)
	$(Q)$(GO_ENVIRONMENT) GOARCH=$(if $(filter arm64,$(ARCH)),arm64,amd64) $(GO) build -trimpath -ldflags=-w -o $@ $<
$(B)/tests/rustfuncs: tests/workloads/library/rustfuncs.rs | $(B)/tests
	$(call say,RUSTC,$@)
	$(Q)$(RUSTC) --edition 2021 -O -o $@ $<
# The kernel's headers are not musl's.
$(B)/tests/musl-userfuncs: tests/workloads/userfuncs.c $(B)/flags | $(B)/tests
	$(call say,CC,$@)
	$(Q)$(MUSL_CC) -O2 -std=gnu11 -D_GNU_SOURCE -idirafter /usr/include -idirafter /usr/include/$(MULTIARCH) -pthread $< -o $@
$(B)/tests/python-calls: tests/workloads/library/python-calls.py | $(B)/tests
	$(Q)install -m 755 $< $@
$(B)/tests/upgrades: tests/workloads/library/upgrades.c $(B)/flags | $(B)/tests
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE $(WARN) -MMD -MP -MF $(B)/tests/upgrades.d $< -ldl -o $@

$(B)/unit/%: tests/unit/%.c $(B)/lib/libplumb.a $(LIBBPF_A) | $(B)/unit
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -Itools/$(firstword $(subst ., ,$*)) -MF $(B)/unit/$*.d $< $(filter %.o,$^) $(B)/lib/libplumb.a $(LIBS) -lcmocka -o $@
$(B)/unit/instance: $(B)/gen/runq-latency.skel.h
$(B)/unit/frames: override CFLAGS += -Itests/unit/kernel-less

# Programs that show what the library finds, for tests in emulated machines.
$(B)/trust/%: tests/trust/%.c $(call object_of,$(IMAGES)) $(B)/lib/libplumb.a $(LIBBPF_A) $(B)/flags $(B)/link-flags | $(B)/trust
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -Itools/probe-check -MF $(B)/trust/$*.d $(LDFLAGS) $(LINK) $< $(filter %.o,$^) $(B)/lib/libplumb.a $(LIBS) -o $@

workloads: $(WORKLOADS) $(LOADED) $(SHOWING) $(B)/tests/stack-twice
units: $(UNITS)
check:
	scripts/check.sh --no-install
check-quick:
	scripts/check.sh --no-install --quick

include tests/fuzz/fuzz.mk

# --- the benchmark: its floor, its load, its peers ---
FLOORS := $(patsubst %,$(B)/bench/%,floor switch-floor event-floor storage-floor)
$(FLOORS): $(B)/bench/%: tests/bench/%.c $(B)/gen/%.skel.h $(B)/lib/libplumb.a $(LIBBPF_A) $(B)/flags $(B)/link-flags | $(B)/bench
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -MF $@.d $(LDFLAGS) $(LINK) $< $(B)/lib/libplumb.a $(LIBS) -o $@

FLOOR_SKELETONS := $(patsubst tests/bench/%.bpf.c,$(B)/gen/%.skel.h,$(wildcard tests/bench/function-floor*.bpf.c))
$(B)/bench/function-floor: tests/bench/function-floor.c $(FLOOR_SKELETONS) $(B)/lib/libplumb.a $(LIBBPF_A) $(B)/flags $(B)/link-flags | $(B)/bench
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -MF $(B)/bench/function-floor.d $(LDFLAGS) $(LINK) $< $(B)/lib/libplumb.a $(LIBS) -o $@

$(B)/bench/spin: tests/bench/spin.c $(B)/flags | $(B)/bench
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE $(WARN) -MMD -MP -MF $(B)/bench/spin.d -static -pthread $< -o $@

$(B)/bench/storage-load: tests/bench/storage-load.c $(B)/flags | $(B)/bench
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE $(WARN) -MMD -MP -MF $(B)/bench/storage-load.d -static $< -o $@

$(B)/bench/many: tests/bench/many.c $(B)/flags | $(B)/bench
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE $(WARN) -MMD -MP -MF $(B)/bench/many.d -static $< -o $@

# A workload with a program of BPF: what again.bpf.h says beside what the kernel does.
$(B)/tests/stack-twice: tests/again/stack-twice.c $(B)/gen/stack-twice.skel.h $(B)/lib/libplumb.a $(LIBBPF_A) $(B)/flags $(B)/link-flags | $(B)/tests
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -MF $(B)/tests/stack-twice.d $(LDFLAGS) $(LINK) $< $(B)/lib/libplumb.a $(LIBS) -o $@

$(B)/bench/deep $(B)/bench/deep-fp: tests/bench/deep.c $(B)/flags | $(B)/bench
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -f$(if $(filter %-fp,$@),no-)omit-frame-pointer -fno-optimize-sibling-calls -std=gnu11 -D_GNU_SOURCE $(WARN) -static $< -o $@
$(B)/bench/pingpong: tests/bench/pingpong.c $(B)/flags | $(B)/bench
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE $(WARN) -MMD -MP -MF $(B)/bench/pingpong.d -static -pthread $< -o $@

# Of system calls, user functions and switches it is measured here, of kernel functions in emulated machines.
include tests/bench/bench.mk

# Of each shell one file: a link for each tool where a shell loads it by the tool's name.
install: all
	$(Q)$(MAKE) --no-print-directory install-files
# Of what is built, whatever built it.
install-files:
	install -d $(DESTDIR)$(sbindir) $(DESTDIR)$(mandir)/man8 $(DESTDIR)$(datadir)/plumb \
		$(DESTDIR)$(completionsdir) $(DESTDIR)$(zshcompletionsdir) $(DESTDIR)$(fishcompletionsdir)
	install -m 0755 $(BINARIES) $(DESTDIR)$(sbindir)
	install -m 0644 $(PAGES) $(DESTDIR)$(mandir)/man8
	for page in $(MORE_PAGES); do \
		install -D -m 0644 $$page $(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/} || exit; done
	install -d $(DESTDIR)$(docdir)
	install -m 0644 $(DOCS) $(DESTDIR)$(docdir)
	install -m 0644 $(SCHEMA) $(AUDIT_SCHEMA) metrics/plumb-rules.yml metrics/plumb-dashboard.json $(DESTDIR)$(datadir)/plumb
	install -m 0644 tools/lib/completion.bash $(DESTDIR)$(completionsdir)/plumb-tools
	install -m 0644 tools/lib/completion.fish $(DESTDIR)$(fishcompletionsdir)/plumb-tools.fish
	for tool in $(TOOLS); do \
		ln -sf plumb-tools $(DESTDIR)$(completionsdir)/$$tool && \
		ln -sf plumb-tools.fish $(DESTDIR)$(fishcompletionsdir)/$$tool.fish || exit; done
	{ echo '#compdef $(TOOLS)'; cat tools/lib/completion.zsh; } >$(DESTDIR)$(zshcompletionsdir)/_plumb-tools
	chmod 0644 $(DESTDIR)$(zshcompletionsdir)/_plumb-tools

# --- packages: scripts/package has what each takes ---
dist deb rpm:
	scripts/package/$@ --output=$(B)/package
tarball: all $(B)/linked
	scripts/package/tarball --build=$(B) --machine=$(firstword $(subst -, ,$(TARGET))) --output=$(B)/package

# SPDX 2.3.
sbom: all $(B)/linked
	scripts/package/sbom $(B) $(firstword $(subst -, ,$(TARGET))) >$(B)/plumb.spdx.json

# Files of other projects that the tools are linked of, as the linker tells.
LINKED ?= $(B)/linked
$(LINKED): $(foreach t,$(TOOLS),$(OBJECTS_$(t))) $(B)/lib/libplumb.a $(B)/link-flags
	$(call say,LINKED,$@)
	$(Q){ $(foreach t,$(TOOLS),$(CC) $(CFLAGS) $(LDFLAGS) $(LINK) $(OBJECTS_$(t)) $(B)/lib/libplumb.a $(LIBS) -Wl$(comma)--trace -o $@.tmp &&) true; } >$@.trace
	$(Q)sed -nE 's/^\(?(\/[^()]*[.](a|o))(\).*)?$$/\1/p' $@.trace | sort -u | xargs realpath | grep -vF '$(abspath $(B))/' | sort -u >$@
	$(Q)rm $@.tmp $@.trace

include scripts/lib/arm64.mk

clean:
	rm -rf $(B)

.PHONY: all docs check check-quick fuzz install install-files install-windows dist tarball sbom deb rpm clean workloads units FORCE

-include $(wildcard $(B)/*/*.d $(B)/*/*/*.d $(B)/*/*/*/*.d)
