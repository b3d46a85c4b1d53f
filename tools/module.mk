## make up              installs, builds, starts the suite, runs a sample through it; REPLICAS=2: two of each
## make down            stops what `make up` started
## make status          lists what runs, and where

# what the build says goes to the screen only, so that `make up | head` ends neither of the two
up:
	@tools/install-deps >&2
	@$(MAKE) --no-print-directory -s -j$$(nproc) build MODE=release >&2
	@$(if $(REPLICAS),TAB_STACK_REPLICAS="$(SERVICES:%=%=$(REPLICAS)) nats=$(REPLICAS)") tools/stack up
down:
	@tools/stack down
status:
	@tools/stack status
.PHONY: status

## make reference       writes the console's API reference again, after a route or a schema has changed
reference: build
	@tests/suite/reference --write
.PHONY: reference

# migrate: the services' schemas, compiled in
SCHEMAS := $(wildcard services/*/schema/*.sql)
$(GEN)/schema.c: tools/migrate/schema-c $(SCHEMAS)
	@mkdir -p $(@D) && tools/migrate/schema-c > $@.new && mv $@.new $@
$(B)/gen/schema.o: $(GEN)/schema.c | $(GENH)
	@mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@
$(B)/bin/migrate: $(B)/tools/migrate/main.o $(B)/gen/schema.o $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
EXTRA_BUILD += $(B)/bin/migrate

# nats-check: a message published and read back, for the supervisor and for probes
$(B)/bin/nats-check: $(B)/tools/nats-check/main.o $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
EXTRA_BUILD += $(B)/bin/nats-check

# The in-context transformer's weights are part of its object
$(B)/services/inference/engine/learn/pfn/weights.o: services/inference/engine/learn/weights/pfn.tabw
