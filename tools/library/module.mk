# libtabella.so: the engine for other programs, tools/library/tabella.h. All of its code is compiled for any
# address and with hidden names, in a mode of its own.
## make library         the engine as a shared library, build/pic/libtabella.so
LIBRARY_O = $(patsubst %.c,$(B)/%.o,$(filter-out %/older.c,$(wildcard tools/library/*.c))) $(B)/services/inference/pool.o \
            $(B)/services/inference/memory.o $(B)/services/data-connector/providers/sqlite_table.o \
            $(B)/services/data-connector/source/cells.o $(B)/services/data-connector/store/diff.o \
            $(patsubst %.c,$(B)/%.o,$(wildcard services/data-connector/expectations/*.c))
# without the command line; what these objects need of the archives comes behind them
$(B)/test/tools-library-tests: $(filter-out %/command.o,$(filter $(B)/tools/% $(B)/services/inference/%,$(LIBRARY_O)))
$(B)/test/tools-library-tests: LDLIBS := $(B)/libengine.a $(B)/libcommon.a $(LDLIBS)
ifneq ($(SHARED),)
LIBRARY_LD = $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-z,defs,--exclude-libs,ALL,--gc-sections \
             -Wl,--version-script=tools/library/symbols.map -Wl,-soname,libtabella.so.1
# of the command line what needs no server: the linker takes what is asked for
$(B)/libcommands.a: $(patsubst %.c,$(B)/%.o,$(filter-out %/main.c,$(wildcard tools/tabella/*.c tools/tabella/*/*.c)))
	@mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^
$(B)/libtabella.so: $(LIBRARY_O) $(B)/libcommands.a $(B)/libengine.a $(B)/libcommon.a \
        tools/library/symbols.map
	@echo "  ld $@" && $(CC) $(LIBRARY_LD) $(filter %.o %.a,$^) $(LDLIBS) -lsqlite3 -o $@
# For the wheel: what Debian has as an archive that can stand at any address is linked in, of OpenBLAS what
# is used, so that little has to come along (decision 0431). OpenBLAS' tables name every kernel of every
# processor: those of complex and bfloat16 numbers, two thirds of them, are given one that traps (decision
# 0486).
TRAP_pic = ud2
TRAP_arm64 = .word 0
BLAS_A = $(shell $(CC) -print-file-name=openblas-pthread/libopenblas.a)
WHEEL_LIBS = -Wl,-z,text -Wl,-Bstatic -lprotobuf-c -lsodium -l:openblas-pthread/libopenblas.a -llz4 -lzstd \
             -lsnappy -lbrotlidec -lbrotlicommon -lexpat -lutf8proc -lsqlite3 -Wl,-Bdynamic -lsimdjson \
             -l:libstdc++.a -lreadstat -lz -lm
$(B)/wheel/no_kernels.s: tools/library/module.mk
	@mkdir -p $(@D) && { printf '.section .note.GNU-stack,"",@progbits\n.text\nno_kernel: $(TRAP_$(MODE))\n'; \
	$(NM) $(BLAS_A) 2>/dev/null \
	    | awk '/^[^ ]+:$$/ { table = /^setparam/ } table && $$1 == "U" && $$2 ~ /^([cz]|sb).*_[A-Z][A-Z0-9]+$$/ \
	           { print $$2 }' | sort -u \
	    | sed 's/.*/.globl &\n.hidden &\n.set &, no_kernel/'; } > $@
$(B)/wheel/no_kernels.o: $(B)/wheel/no_kernels.s
	@$(CC) -c $< -o $@
$(B)/wheel/libtabella.so: $(LIBRARY_O) $(B)/wheel/no_kernels.o $(B)/libcommands.a $(B)/libengine.a \
        $(B)/libcommon.a tools/library/symbols.map
	@echo "  ld $@" && \
	$(CC) $(LIBRARY_LD) $(LIBRARY_O) $(B)/wheel/no_kernels.o $(B)/libcommands.a \
	    $(B)/libengine.a $(B)/libcommon.a $(WHEEL_LIBS) -o $@
$(B)/wheel/libolder.so: $(B)/tools/library/older.o
	@mkdir -p $(@D) && $(CC) -shared -Wl,-soname,libolder-tabella.so,-z,relro,-z,now $< -o $@
endif
.PHONY: library wheel wheel-arm64
## make wheel           the Python package with the engine inside, in build/dist
wheel: dist-python
	@$(MAKE) --no-print-directory MODE=pic build/pic/wheel/libtabella.so build/pic/wheel/libolder.so
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 315532800) \
	    tools/dist/wheel $(DIST) build/pic/wheel/libtabella.so build/pic/wheel/libolder.so
## make wheel-arm64     the same for arm64, where a compiler for it is (g++-aarch64-linux-gnu)
wheel-arm64: dist-python
	@if command -v aarch64-linux-gnu-g++ >/dev/null; then \
	    [ -e build/arm64/root/usr/include/nats/nats.h ] || tools/dist/sysroot arm64 build/arm64/root && \
	    $(MAKE) --no-print-directory MODE=arm64 build/arm64/wheel/libtabella.so build/arm64/wheel/libolder.so && \
	    SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 315532800) \
	        tools/dist/wheel $(DIST) build/arm64/wheel/libtabella.so build/arm64/wheel/libolder.so build/arm64/root; \
	else echo "wheel-arm64: skipped: no aarch64-linux-gnu-g++"; fi
library:
	@$(MAKE) --no-print-directory MODE=pic build/pic/libtabella.so
