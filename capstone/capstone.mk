# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What of capstone and of libdw is linked into static tools, which would be 5 MB larger with all of it.

# Of capstone's architectures x86, without the printer of AT&T's syntax.
OTHERS   := ARM AArch64 M68K Mips PPC Sparc SystemZ XCore TMS320C64x M680X EVM MOS65XX WASM BPF RISCV SH TRICORE ALPHA HPPA LoongArch Xtensa ARC
# Of libdw's machines, for those that the tools run on and their 32-bit programs, and without disassemblers, which the tools do not use.
MACHINES := alpha arc bpf csky hexagon ia64 loongarch m68k mips ppc ppc64 riscv s390 sh sparc tilegx
UNLINKED := $(foreach a,$(OTHERS),$(a)_global_init $(a)_option) X86_ATT_printInst $(MACHINES:%=%_init) i386_disasm x86_64_disasm

# The tables of capstone's decoder are mostly zeros. They are packed, and unpacked when the decoder is opened (unpack.c): instead of
# the objects that have them, objects with room for them are linked.
PACKED   := X86Mapping X86DisassemblerDecoder X86IntelInstPrinter
CAPSTONE := $(B)/capstone/libtables.a
LESS     := $(UNLINKED:%=-Wl$(comma)--defsym=%=0) -Wl,--wrap=cs_open

$(CAPSTONE): capstone/pack-tables.py capstone/unpack.c $(B)/flags
	$(call say,PACK,$@)
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)cd $(@D) && $(CROSS)$(AR) x $$($(CC) $(if $(CROSS),-B/usr/lib/$(MULTIARCH)) -print-file-name=libcapstone.a) $(PACKED:%=%.o)
	$(Q)$(PYTHON) capstone/pack-tables.py '$(CROSS)' $(@D) $(PACKED) >$(@D)/tables.inc
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -I$(@D) -c capstone/unpack.c -o $(@D)/unpack.o
	$(Q)$(CROSS)$(AR) rcs $@ $(@D)/unpack.o $(PACKED:%=$(@D)/%.o)
