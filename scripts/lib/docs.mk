# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is made of the manual pages of all tools: one page of their examples, and what programs read.
DOCS     := $(B)/doc/examples.html $(B)/doc/programs.md
SOURCES_OF_PAGES := $(foreach t,$(TOOLS),tools/$(t)/$(t).rst)
$(B)/doc/examples.html: scripts/lib/examples.py tools/lib/manual/plumb.7.rst scripts/lib/examples.css $(SOURCES_OF_PAGES) $(B)/flags | $(B)/doc
	$(call say,HTML,$@)
	$(Q)$(PYTHON) $< $(VERSION) $(filter %.rst %.css,$^) >$@
$(B)/doc/programs.md: scripts/lib/programs.py $(SCHEMA) tools/lib/manual/programs.md $(SOURCES_OF_PAGES) $(B)/flags | $(B)/doc
	$(call say,MD,$@)
	$(Q)$(PYTHON) $< $(VERSION) $(filter %.json %.md %.rst,$^) >$@
