# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Windows: tracing before and after a known event, by systemd.
libexecdir ?= $(prefix)/libexec
systemdunitdir ?= $(prefix)/lib/systemd

# Tools that trace for a duration have the section of all of them in their pages.
WINDOW_TOOLS := $(filter $(TOOLS),$(notdir $(patsubst %/,%,$(dir $(shell grep -l 'manual/common' tools/*/*.rst)))))
WINDOW_PAGE := $(B)/man/plumb-window.5

$(WINDOW_PAGE): windows/plumb-window.rst | $(B)/man
	$(call say,MAN,$@)
	$(Q)$(RST2MAN) --halt=2 $< $@

# install FILE as MODE in FOLDER, with the paths that it is installed with
window_file = sed -e 's|@sbindir@|$(sbindir)|g' -e 's|@libexecdir@|$(libexecdir)|g' -e 's|@unitdir@|$(systemdunitdir)/system|g' \
	-e 's|@tools@|$(WINDOW_TOOLS)|g' -e 's|@version@|$(VERSION)|g' windows/$(1) >$(DESTDIR)$(3)/$(1) && \
	chmod $(2) $(DESTDIR)$(3)/$(1)

install-windows: $(WINDOW_PAGE)
	install -d $(DESTDIR)$(sbindir) $(DESTDIR)$(mandir)/man5 $(DESTDIR)$(libexecdir)/plumb $(DESTDIR)$(datadir)/plumb/windows \
		$(DESTDIR)$(systemdunitdir)/system $(DESTDIR)$(systemdunitdir)/system-generators
	$(call window_file,plumb-window,0755,$(sbindir))
	$(call window_file,window-config,0644,$(libexecdir)/plumb)
	$(call window_file,window.awk,0644,$(libexecdir)/plumb)
	$(call window_file,plumb-window@.service,0644,$(systemdunitdir)/system)
	$(call window_file,plumb-window@.timer,0644,$(systemdunitdir)/system)
	$(call window_file,plumb-window-generator,0755,$(systemdunitdir)/system-generators)
	install -m 0644 windows/*.conf $(DESTDIR)$(datadir)/plumb/windows
	install -m 0644 $(WINDOW_PAGE) $(DESTDIR)$(mandir)/man5
