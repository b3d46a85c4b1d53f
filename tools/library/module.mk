# libtabella.so: the engine for other programs, tools/library/tabella.h. All of its code is compiled for any
# address and with hidden names, in a mode of its own.
## make library         the engine as a shared library, build/pic/libtabella.so
ifeq ($(MODE),pic)
LIBRARY_LD = $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-z,defs,--exclude-libs,ALL,--gc-sections \
             -Wl,--version-script=tools/library/symbols.map -Wl,-soname,libtabella.so.1
$(B)/libtabella.so: $(B)/tools/library/library.o $(B)/services/inference/pool.o \
        $(B)/services/inference/memory.o $(B)/libengine.a $(B)/libcommon.a tools/library/symbols.map
	@echo "  ld $@" && $(CC) $(LIBRARY_LD) $(filter %.o %.a,$^) $(LDLIBS) -o $@
endif
.PHONY: library
library:
	@$(MAKE) --no-print-directory MODE=pic build/pic/libtabella.so
