# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Which libbpf is linked: the system's (>= 1.1), or a source tree's: make LIBBPF_SRC=DIR
ifdef LIBBPF_SRC
LIBBPF_A      := $(B)/libbpf/libbpf.a
LIBBPF_CFLAGS := -I$(B)/libbpf/include
LIBBPF_BPF_CFLAGS := -I$(B)/libbpf/include
LIBBPF_LIBS   := $(LIBBPF_A)

$(LIBBPF_A): $(wildcard $(LIBBPF_SRC)/src/*.[ch] $(LIBBPF_SRC)/*.[ch])
	$(Q)mkdir -p $(B)/libbpf/obj
	$(Q)$(MAKE) -C $(firstword $(wildcard $(LIBBPF_SRC)/src) $(LIBBPF_SRC)) BUILD_STATIC_ONLY=1 \
		OBJDIR=$(abspath $(B)/libbpf/obj) DESTDIR=$(abspath $(B)/libbpf) \
		INCLUDEDIR=/include LIBDIR=/ UAPIDIR=/include install install_uapi_headers
else
ifneq ($(shell $(PKG_CONFIG) --atleast-version=1.1 libbpf && echo yes),yes)
$(error libbpf 1.1 or newer is needed (Debian: libbpf-dev), or its source: make LIBBPF_SRC=DIR)
endif
LIBBPF_A      :=
LIBBPF_CFLAGS := $(shell $(PKG_CONFIG) --cflags libbpf)
LIBBPF_BPF_CFLAGS :=
LIBBPF_LIBS   := -lbpf
endif
