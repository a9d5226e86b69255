# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# BPF programs: object, then skeleton.

# "TOOL:NAME" of each skeleton that a loader includes.  NAME-session-610, NAME-session-700 and NAME-go are NAME.bpf.c with a macro set.
SKELETONS := $(shell awk -F '"' '/^.include ".*[.]skel[.]h"/ { split(FILENAME, path, "/"); sub("[.]skel[.]h", "", $$2); print path[2] ":" $$2 }' \
	$(wildcard tools/*/*.c tools/*/*/*.c))
skeletons_of = $(patsubst $(1):%,$(B)/gen/%.skel.h,$(filter $(1):%,$(SKELETONS)))
VARIANTS  := -session-610 -session-700 -go
MACRO-session-610 := -DPLUMB_KFUNC_FORM=610
MACRO-session-700 := -DPLUMB_KFUNC_FORM=700
MACRO-go  := -DPLUMB_GO
variant_of = $(strip $(foreach v,$(VARIANTS),$(if $(filter %$(v),$(1)),$(v))))
# As -MP does for headers: what a source that is gone was for is made again.
tools/%.bpf.c: ;
$(B)/bpf/%.bpf.o: $(B)/vmlinux.h $(B)/bpf-flags | $(B)/bpf $(LIBBPF_A)
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_FLAGS) $(MACRO$(call variant_of,$*)) -c $(wildcard $(addsuffix /$(patsubst %$(call variant_of,$*),%,$*).bpf.c,$(wildcard tools/* tests/*))) \
		-o $@.tmp -MF $(B)/bpf/$*.bpf.d -MT $@
	$(Q)$(BPFTOOL) gen object $@.lines $@.tmp && rm $@.tmp
	$(Q)$(OBJCOPY) --dump-section .BTF.ext=$@.tmp $@.lines && $(PYTHON) scripts/lib/strip-lines.py $@.tmp
	$(Q)$(OBJCOPY) -w --strip-symbol='LBB*' --update-section .BTF.ext=$@.tmp $@.lines $@ && rm $@.tmp $@.lines

# They are kept.  (An empty list would mean all that is made, of which make then does not miss what is gone.)
.SECONDARY: $(foreach s,$(SKELETONS),$(B)/bpf/$(lastword $(subst :, ,$(s))).bpf.o) \
	$(patsubst %.bpf.c,$(B)/bpf/%.bpf.o,$(notdir $(wildcard tests/*/*.bpf.c)))

$(B)/gen/%.skel.h: $(B)/bpf/%.bpf.o scripts/lib/pack-skeleton.py | $(B)/gen
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf >$@.tmp
	$(Q)$(PYTHON) scripts/lib/pack-skeleton.py $< <$@.tmp >$@ && rm $@.tmp
