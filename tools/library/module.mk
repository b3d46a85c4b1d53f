# libtabella.so: the engine for other programs, tools/library/tabella.h. All of its code is compiled for any
# address and with hidden names, in a mode of its own.
## make library         the engine as a shared library, build/pic/libtabella.so
ifeq ($(MODE),pic)
LIBRARY_LD = $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-z,defs,--exclude-libs,ALL,--gc-sections \
             -Wl,--version-script=tools/library/symbols.map -Wl,-soname,libtabella.so.1
LIBRARY_O = $(patsubst %.c,$(B)/%.o,$(wildcard tools/library/*.c)) $(B)/services/inference/pool.o \
            $(B)/services/inference/memory.o
$(B)/libtabella.so: $(LIBRARY_O) $(B)/libengine.a $(B)/libcommon.a tools/library/symbols.map
	@echo "  ld $@" && $(CC) $(LIBRARY_LD) $(filter %.o %.a,$^) $(LDLIBS) -o $@
# For the wheel: what Debian has as an archive that can stand at any address is linked in, of OpenBLAS what is
# used, so that little has to come along (decision 0431).
WHEEL_LIBS = -Wl,-z,text -Wl,-Bstatic -lprotobuf-c -lsodium -l:openblas-pthread/libopenblas.a -llz4 -lzstd \
             -lsnappy -lbrotlidec -lbrotlicommon -lexpat -lutf8proc -Wl,-Bdynamic -levent -lsimdjson -lstdc++ \
             -lreadstat -lz -lm
$(B)/wheel/libtabella.so: $(B)/libtabella.so
	@mkdir -p $(@D) && echo "  ld $@" && \
	$(CC) $(LIBRARY_LD) $(LIBRARY_O) $(B)/libengine.a $(B)/libcommon.a $(WHEEL_LIBS) -o $@
endif
.PHONY: library wheel
## make wheel           the Python package with the engine inside, in build/dist
wheel: dist-python
	@$(MAKE) --no-print-directory MODE=pic build/pic/wheel/libtabella.so
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 315532800) \
	    tools/dist/wheel $(DIST) build/pic/wheel/libtabella.so
library:
	@$(MAKE) --no-print-directory MODE=pic build/pic/libtabella.so
