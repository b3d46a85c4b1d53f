# Large blocks of memory are counted (services/inference/memory.h).
$(B)/bin/inference: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free
# Loops that the compiler does several at a time: kernel values, distances (decision 0050).
CFLAGS_services_inference_engine_learn_linear_kernel = -O3
# What the engine knows, compiled: word lists and trained models are linked in as read-only data.
LEXICON_TXT := $(wildcard services/inference/engine/lexicon/*.txt)
LEXICON_C    = tools/compile_lexicon.c common/base/base.c services/inference/engine/lexicon/fold_text.c services/inference/engine/sector/sectors.c
$(GEN)/lexicon.bin: $(LEXICON_C) $(LEXICON_TXT) services/inference/engine/lexicon/lexicon.h | $(GENH)
	@mkdir -p $(@D) && $(CC) $(CPPFLAGS) -std=gnu17 -O2 $(LEXICON_C) -o $(GEN)/lexicon-tool.$$$$ && \
	 $(GEN)/lexicon-tool.$$$$ services/inference/engine/lexicon $@.$$$$ && mv $@.$$$$ $@ && rm -f $(GEN)/lexicon-tool.$$$$
$(B)/services/inference/engine/lexicon/lexicon.o: $(GEN)/lexicon.bin
$(B)/services/inference/engine/sector/affinity.o: services/inference/engine/sector/affinity.model
# What makes affinity.model, from files of WordNet that nothing else reads.
$(B)/bin/affinity: $(B)/tools/affinity.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(B)/services/inference/engine/profile/roles/models.o: services/inference/engine/profile/stage1.model \
    services/inference/engine/profile/stage2.model \
    services/inference/engine/profile/stage2-hidden.model \
    services/inference/engine/profile/stage2-top.model services/inference/engine/sector/sector.model
# Plans of the generator: lists and one text a sector, end to end.
GENERATE_TXT := $(wildcard services/inference/engine/generate/lists.txt services/inference/engine/generate/sectors/*.txt)
$(GEN)/generate.txt: $(GENERATE_TXT)
	@mkdir -p $(@D) && for f in $^; do printf '\n=%s\n' "$$(basename $$f .txt)"; cat $$f; done > $@.$$$$ && mv $@.$$$$ $@
$(B)/services/inference/engine/generate/generate.o: $(GEN)/generate.txt
# The trainer of those models (tools/train), and what measures them.
CFLAGS_tools_train_softmax = -O3 -fno-math-errno -fno-trapping-math
CFLAGS_tools_train_perceptron = $(CFLAGS_tools_train_softmax)
TRAIN_O = $(patsubst %.c,$(B)/%.o,$(wildcard tools/train/*.c))
$(B)/bin/train: $(TRAIN_O) $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
CFLAGS_services_inference_engine_profile_roles_logistic = -O3
$(B)/services/inference/engine/keys/score.o: services/inference/engine/keys/keys.model
# The trainer of engine/keys (tools/train/keys), which also measures them.
$(B)/bin/train-keys: $(patsubst %.c,$(B)/%.o,$(wildcard tools/train/keys/*.c)) $(B)/tools/train/trees.o \
    $(B)/tests/bench/match/cases.o \
    $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
BENCH_PROGRAMS += $(B)/bin/train-keys
$(B)/services/inference/engine/link/evidence/twin_model.o: services/inference/engine/link/twins.model
$(B)/services/inference/engine/link/evidence/across_model.o: services/inference/engine/link/across.model
# The trainer of pairs of rows (tools/train/pairs), which also measures them.
CFLAGS_tools_train_trees = -O3
$(B)/bin/train-pairs: $(patsubst %.c,$(B)/%.o,$(wildcard tools/train/pairs/*.c)) $(B)/tools/train/trees.o \
    $(B)/tests/bench/match/cases.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
BENCH_PROGRAMS += $(B)/bin/train-pairs
$(B)/bin/train-across: $(patsubst %.c,$(B)/%.o,$(wildcard tools/train/across/*.c)) $(B)/tools/train/trees.o \
    $(B)/tests/bench/match/cases.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
BENCH_PROGRAMS += $(B)/bin/train-across
BENCH_PROGRAMS += $(B)/bench/columns-speed $(B)/bin/train $(B)/bin/affinity
$(B)/bench/columns-speed: $(B)/tests/bench/columns/speed.o $(B)/tools/train/labelled.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

# What wrote a fitted state, and alone reads it (decision 0407): a digest of all that states follow
# from.
RELEASE_OF = $(sort $(shell find services/inference -path '*/tests/*' -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.model' -o -name '*.txt' \) -print) common/table/table.h proto/bundle.proto)
GENH += $(GEN)/services/inference/engine_release.h
$(GEN)/services/inference/engine_release.h: $(RELEASE_OF)
	@mkdir -p $(@D) && printf '#define ENGINE_RELEASE "%.32s"\n' "$$(cat $^ | sha256sum)" > $@.new && \
	if cmp -s $@.new $@; then rm $@.new && touch $@; else mv $@.new $@; fi

# The schemas of the whole API's description, as texts.
GENH += $(GEN)/services/api/schemas_json.h
$(GEN)/services/api/schemas_json.h: services/api/schemas.json
	@mkdir -p $(@D) && { echo '/* made from $< */'; \
	printf 'static const char API_SCHEMAS[] = %s;\n' "$$(jq -c . $< | jq -Rs 'rtrimstr("\n")')"; \
	printf 'static const char API_SCHEMA_ERROR[] = %s;\n' "$$(jq -c .Error $< | jq -Rs 'rtrimstr("\n")')"; } > $@.new && mv $@.new $@

# keys mails notices, and reads what identity providers say
$(B)/bin/keys $(B)/test/services-keys-tests: LDLIBS += -lcurl -lcjose

# data-connector reads sources of many kinds
SOURCE_LIBS = -lcurl -lmariadb -lsqlite3 -lodbc
$(B)/bin/data-connector $(B)/test/services-data-connector-tests: LDLIBS += $(SOURCE_LIBS)
$(B)/fuzz/source $(B)/fuzz/remote $(B)/fuzz/protocols: LDLIBS += $(SOURCE_LIBS)
