# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The kernel's types, for CO-RE.  Any recent kernel's will do, since what is read
# is relocated at load.  In order: an explicit BTF file (make VMLINUX_BTF=FILE),
# the packaged header (Debian: linux-bpf-dev), the running kernel.
VMLINUX_PACKAGED ?= $(firstword $(wildcard /usr/include/$(MULTIARCH)/linux/bpf/vmlinux.h \
	/usr/include/$(MULTIARCH)/vmlinux.h /usr/include/vmlinux.h))
ifndef VMLINUX_BTF
ifeq ($(VMLINUX_PACKAGED),)
VMLINUX_BTF := /sys/kernel/btf/vmlinux
endif
endif

$(B)/vmlinux.h: | $(B)
ifdef VMLINUX_BTF
	$(call say,BTF,$@)
	$(Q)$(BPFTOOL) btf dump file $(VMLINUX_BTF) format c > $@.new
else
	$(call say,COPY,$@)
	$(Q)cp $(VMLINUX_PACKAGED) $@.new
endif
	$(Q)mv $@.new $@
