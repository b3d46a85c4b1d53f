# tabella: the command line, with the engine in it
$(B)/bin/tabella: $(patsubst %.c,$(B)/%.o,$(wildcard tools/tabella/*.c tools/tabella/large/*.c)) $(B)/tools/library/command.o $(B)/services/inference/pool.o $(B)/services/inference/memory.o \
    $(B)/services/data-connector/providers/sqlite_table.o $(B)/services/data-connector/source/cells.o \
    $$(call body,services/data-connector/expectations) $(B)/services/data-connector/store/diff.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -lsqlite3 -o $@
build/tabella: $(B)/bin/tabella
	@ln -f $< $@ 2>/dev/null || cp $< $@
EXTRA_BUILD += build/tabella

# The page's template, as a text.
GENH += $(GEN)/tools/tabella/page_html.h
$(GEN)/tools/tabella/page_html.h: gateway/console/page.html
	@mkdir -p $(@D) && { echo '/* made from $< */'; \
	printf 'static const char PAGE_HTML[] = %s;\n' "$$(jq -Rs . $<)"; } > $@.new && mv $@.new $@
