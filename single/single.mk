# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# One program with all tools. The objects of each tool become one in which only its main() is global, under a name of its own.

SINGLE := $(B)/single/plumb
single: $(SINGLE)

$(B)/single:
	$(Q)mkdir -p $@
main_of = plumb_main_$(subst -,_,$(1))

define single_rule
$(B)/single/$(1).o: $$(OBJECTS_$(1)) | $(B)/single
	$(Q)$$(CROSS)ld -r $$(OBJECTS_$(1)) -o $$@.tmp
	$(Q)$$(CROSS)objcopy --redefine-sym main=$(call main_of,$(1)) --keep-global-symbol=$(call main_of,$(1)) $$@.tmp $$@ && rm $$@.tmp
endef
$(foreach t,$(TOOLS),$(eval $(call single_rule,$(t))))

$(B)/gen/single-tools.inc: tools | $(B)/gen
	$(call say,GEN,$@)
	$(Q)printf '%s\n' $(foreach t,$(TOOLS),'TOOL("$(t)", $(call main_of,$(t)))') >$@
# The table of tools of plumb(7), as text.
$(B)/gen/single-help.inc: tools/lib/manual/plumb.7.rst | $(B)/gen
	$(call say,GEN,$@)
	$(Q)sed -n '/^WHICH TOOL$$/,/^P99 IS ON FIRE$$/p' $< | sed -n '/^A slow service/,$$ { /^P99/d; s/see P99/man plumb, P99/; s/::$$/:/; s/["\\]/\\&/g; s/.*/"&\\n"/p }' | \
		sed '1i "\\n"' >$@

$(SINGLE): single/plumb.c $(TOOLS:%=$(B)/single/%.o) $(B)/lib/libplumb.a $(LIBBPF_A) $(B)/gen/single-tools.inc $(B)/gen/single-help.inc $(B)/flags $(B)/link-flags
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -c $< -o $@.o
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(LINK) $@.o $(TOOLS:%=$(B)/single/%.o) $(B)/lib/libplumb.a $(LIBS) -o $@.tmp
	$(Q)$(STRIP) $@.tmp && mv $@.tmp $@
image: $(SINGLE)
	scripts/package/image --single=$(SINGLE) --output=$(B)/package
.PHONY: single image
