# Tabella. `make up` runs the suite, `make test` tests it, `make help` lists the rest.
MODE ?= release
B     = build/$(MODE)
GEN   = build/gen

SAN_asan = -fsanitize=address,undefined -fno-sanitize-recover=all
SAN_tsan = -fsanitize=thread
SAN_fuzz = -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
OPT_release = -O2
OPT_asan = -O1
OPT_tsan = -O1
OPT_fuzz = -O1
OPT_pic = -O2 -ffunction-sections -fdata-sections
OPT_arm64 = $(OPT_pic) -fsigned-char # as on x86-64
OPT_points = -O0
WARN   = -Wall -Wextra -Werror -Wshadow -Wwrite-strings -Wformat=2 -Wundef -Wvla -Wdouble-promotion
CWARN  = -Wstrict-prototypes -Wmissing-prototypes
SHARED = $(filter pic arm64,$(MODE))# modes of the engine's shared library
HARDEN = $(if $(filter release,$(MODE))$(SHARED),-D_FORTIFY_SOURCE=2) -fstack-protector-strong \
         -fno-omit-frame-pointer $(if $(SHARED),-fPIC -fvisibility=hidden,-fPIE)
ifeq ($(MODE),arm64) # built here for another processor, with its headers and libraries (tools/dist/sysroot)
SYSROOT = $(CURDIR)/build/arm64/root
FOREIGN = aarch64-linux-gnu
CC  = $(FOREIGN)-gcc --sysroot=$(SYSROOT)
CXX = $(FOREIGN)-g++ --sysroot=$(SYSROOT)
NM  = $(FOREIGN)-nm
AR  = $(FOREIGN)-ar
PKG_CONFIG = PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
    PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(FOREIGN)/pkgconfig:$(SYSROOT)/usr/lib/$(FOREIGN)/openblas-pthread/pkgconfig \
    pkg-config
endif
PKGS   = libpq openblas p11-kit-1
PKG_CONFIG ?= pkg-config
NM ?= nm
override CPPFLAGS += -I. -I$(GEN) -I$(B) $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null) -D_GNU_SOURCE
CPP_points = -DTAB_POINTS
override CPPFLAGS += $(CPP_$(MODE))
override BASEFLAGS += -g $(OPT_$(MODE)) -ffp-contract=off -pthread $(HARDEN) $(SAN_$(MODE)) -MMD -MP
WARN_fuzz = -Wno-error -Wno-double-promotion   # clang builds these alone; gcc holds the warnings down
override CFLAGS   += -std=gnu17 $(BASEFLAGS) $(WARN) $(CWARN) $(WARN_$(MODE))
override CXXFLAGS += -std=c++17 $(BASEFLAGS) $(WARN) -fno-rtti $(WARN_$(MODE))
LDFLAGS += -pie -pthread $(SAN_$(MODE)) -Wl,-z,relro,-z,now,--as-needed
LDLIBS   = -lprotobuf-c -lnats -lpq -lhiredis -levent -levent_pthreads -lsodium -lssl -lcrypto \
           -lsimdjson -lstdc++ -lopenblas -llz4 -lzstd -lsnappy -lbrotlidec -lz -lexpat -lreadstat -lutf8proc -lm

# ---- what is where ------------------------------------------------------------------------
SERVICES := $(patsubst services/%/main.c,%,$(wildcard services/*/main.c))
PROTOS   := $(wildcard proto/*.proto)
GENH     := $(PROTOS:proto/%.proto=$(GEN)/proto/%.pb-c.h)
ENGINE_C := $(shell find services/inference/engine -name '*.c' -not -path '*/tests/*')
COMMON_O := $(patsubst %.c,$(B)/%.o,$(filter-out common/files/tests/%,$(wildcard common/*/*.c common/files/*/*.c))) \
            $(patsubst %.cc,$(B)/%.o,$(wildcard common/*/*.cc)) \
            $(PROTOS:proto/%.proto=$(B)/gen/%.pb-c.o)
TEST_DIRS := $(sort $(patsubst %/,%,$(dir $(shell find common services gateway tools tests -name '*_test.c'))))
TESTS     := $(foreach d,$(TEST_DIRS),$(B)/test/$(subst /,-,$(d)))

.PHONY: FORCE all build unit unit-programs test up down bench deps help clean fuzz
.SECONDARY:
all: build

-include $(wildcard */module.mk */*/module.mk)   # gateway/module.mk, tools/module.mk, tests/module.mk add their targets

build: $(SERVICES:%=$(B)/bin/%) $(EXTRA_BUILD)

# ---- generated contracts --------------------------------------------------------------------
$(GEN)/proto/%.pb-c.h $(GEN)/proto/%.pb-c.c: proto/%.proto
	@mkdir -p $(GEN) && protoc-c --c_out=$(GEN) $<
$(B)/gen/%.pb-c.o: $(GEN)/proto/%.pb-c.c $(GENH)
	@mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(filter-out $(WARN) $(CWARN),$(CFLAGS)) -c $< -o $@

# which commit: written anew only when it is another one; COMMIT=... where there is no history, and the
# sources of a release have a file of that name
COMMIT ?= $(shell cat COMMIT 2>/dev/null || git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
$(GEN)/commit.h: FORCE
	@mkdir -p $(@D) && echo '#define TAB_COMMIT "$(COMMIT)"' > $@.new && \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
FORCE:
$(B)/common/run/build.o: $(GEN)/commit.h

# ---- objects, libraries, programs -----------------------------------------------------------
$(B)/%.o: %.c | $(GENH)
	@mkdir -p $(@D) && echo "  cc $<" && $(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_$(subst /,_,$*)) -c $< -o $@
$(B)/%.o: %.cc | $(GENH)
	@mkdir -p $(@D) && echo "  c++ $<" && $(CXX) $(CPPFLAGS) $(CXXFLAGS) -c $< -o $@
$(B)/libcommon.a: $(COMMON_O)
	@mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^
ifeq ($(MODE),points) # the engine has none: its library is the release's
$(B)/libengine.a: FORCE
	@$(MAKE) --no-print-directory -s MODE=release build/release/libengine.a
	@mkdir -p $(@D) && cp -u -p build/release/libengine.a $@
else
$(B)/libengine.a: $(ENGINE_C:%.c=$(B)/%.o)
	@mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^
endif

.SECONDEXPANSION:
# a folder's objects with those of its rooms; the engine is a library of its own
objs = $(patsubst %.c,$(B)/%.o,$(filter-out $(1)/tests/% $(1)/engine/%,$(wildcard $(1)/*.c $(1)/*/*.c)))
# services/NAME's own objects without its main: what its tests link
body = $(filter-out %/main.o,$(call objs,$(1)))
engine_of = $(if $(filter services/inference% tools% tests%,$(1)),$(B)/libengine.a)

$(SERVICES:%=$(B)/bin/%): $(B)/bin/%: $$(call objs,services/$$*) $$(call engine_of,services/$$*) $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

define TEST_PROGRAM
$(B)/test/$(subst /,-,$(1)): $$(call objs,$(1)) $(if $(filter services/inference/engine%,$(1)),,$(if $(filter services/%,$(1)),$$(call body,$(patsubst %/tests,%,$(1))))) $(call engine_of,$(1)) $(B)/libcommon.a
	@mkdir -p $$(@D) && echo "  ld $$@" && $$(CC) $$(LDFLAGS) $$^ -lcriterion $$(LDLIBS) -o $$@
endef
$(foreach d,$(TEST_DIRS),$(eval $(call TEST_PROGRAM,$(d))))

# ---- what a person types --------------------------------------------------------------------
## make build           the daemons and tools, build/MODE/bin; release (default), asan, tsan, fuzz, points
## make deps            installs what building and running need
## make unit            builds and runs the unit programs
## make test            installs what tests need, builds, runs the unit programs and every suite
## make clean           removes build/
## make help            this list
deps:
	@tools/install-deps
unit-programs: $(TESTS)
unit: $(TESTS)
	@tests/run-unit $(TESTS)
test:
	@tools/install-deps test
	@$(MAKE) --no-print-directory -j$$(nproc) build MODE=release
	@tests/run-all
clean:
	rm -rf build
help:
	@sed -n 's/^## //p' Makefile */module.mk */*/module.mk

-include $(shell find build -name '*.d' -type f 2>/dev/null)
