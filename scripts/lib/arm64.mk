# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The cross build for arm64, and packages of it.
build/arm64/vmlinux.btf: $(B)/trust/image
	$(Q)mkdir -p $(@D)
	$(Q)$< --types "$$(scripts/kernels.sh --arch=arm64 7 | cut -f3)" > $@
arm64: build/arm64/vmlinux.btf
	$(Q)$(MAKE) B=build/arm64 CC=aarch64-linux-gnu-gcc VMLINUX_BTF=$< all workloads
# "make arm64-units NAMES=...": those that tests/build/emulated.t runs.
arm64-units: build/arm64/vmlinux.btf
	$(Q)$(MAKE) B=build/arm64 CC=aarch64-linux-gnu-gcc VMLINUX_BTF=$< $(NAMES:%=build/arm64/unit/%)
arm64-tarball: build/arm64/vmlinux.btf
	$(Q)$(MAKE) B=build/arm64 CC=aarch64-linux-gnu-gcc VMLINUX_BTF=$< tarball
arm64-deb: build/arm64/vmlinux.btf
	VMLINUX_BTF=$(abspath $<) scripts/package/deb --arch=arm64 --output=build/arm64/package

.PHONY: arm64 arm64-units arm64-tarball arm64-deb
