# The synthetic prior is a shared library of the trainer (prior.py compiles it); its tests link it whole.
PRIOR_O = $(patsubst %.c,$(B)/%.o,$(wildcard tools/pretrain/prior/*.c))
$(B)/test/tools-pretrain-prior-tests: $(PRIOR_O)
