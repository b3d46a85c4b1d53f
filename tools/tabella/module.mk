# tabella: the command line, with the engine in it
$(B)/bin/tabella: $(patsubst %.c,$(B)/%.o,$(wildcard tools/tabella/*.c)) $(B)/services/inference/pool.o $(B)/services/inference/memory.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
build/tabella: $(B)/bin/tabella
	@ln -f $< $@ 2>/dev/null || cp $< $@
EXTRA_BUILD += build/tabella
