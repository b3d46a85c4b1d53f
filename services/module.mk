# Loops that the compiler does several at a time: kernel values, distances (docs/decisions/0050).
CFLAGS_services_inference_engine_learn_kernel = -O3
# What the engine knows, compiled: word lists and trained models are linked in as read-only data.
LEXICON_TXT := $(wildcard services/inference/engine/lexicon/*.txt)
LEXICON_C    = tools/lexicon.c services/inference/engine/profile/text.c services/inference/engine/sector/sectors.c
$(GEN)/lexicon.bin: $(LEXICON_C) $(LEXICON_TXT) services/inference/engine/lexicon/lexicon.h | $(GENH)
	@mkdir -p $(@D) && $(CC) $(CPPFLAGS) -std=gnu17 -O2 $(LEXICON_C) -o $(GEN)/lexicon-tool.$$$$ && \
	 $(GEN)/lexicon-tool.$$$$ services/inference/engine/lexicon $@.$$$$ && mv $@.$$$$ $@ && rm -f $(GEN)/lexicon-tool.$$$$
$(B)/services/inference/engine/lexicon/lexicon.o: $(GEN)/lexicon.bin
$(B)/services/inference/engine/profile/models.o: services/inference/engine/profile/stage1.model \
    services/inference/engine/profile/stage2.model services/inference/engine/sector/sector.model
