# SPDX-License-Identifier: Apache-2.0
# gpufl: one Makefile, no recursion into folders. `make help` lists the targets.

# ---- knobs -----------------------------------------------------------------------------------
VERSION := 0.1.0
prefix  ?= /usr/local
bindir  ?= $(prefix)/bin
libdir  ?= $(prefix)/lib
incdir  ?= $(prefix)/include
datadir ?= $(prefix)/share
mandir  ?= $(datadir)/man
bashdir ?= $(datadir)/bash-completion/completions
zshdir  ?= $(datadir)/zsh/vendor-completions
fishdir ?= $(datadir)/fish/vendor_completions.d
SAN     ?= # address,undefined | thread
COVERAGE ?= # COVERAGE=1 counts the lines that run
V       ?= # V=1 shows the commands
WERROR  ?= # WERROR=1 makes warnings errors
ARCH    ?= # ARCH=arm64 builds for that, into build/arm64/, by Debian's cross compiler
INSTALL ?= install
PKG_CONFIG ?= $(CROSS)pkg-config
# What runs a program that was built: nothing, or an emulator of its architecture.
EMULATOR ?= $(if $(CROSS),$(if $(filter $(CPU),$(shell uname -m)),,qemu-$(CPU)))
FUZZ_SECONDS ?= 30
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))

# Goals that call make again must not run in parallel: they would build the same files. A
# library was once linked while another make was writing its objects.
ifneq ($(and $(word 2,$(MAKECMDGOALS)),$(filter-out all check-build build/%,$(MAKECMDGOALS))),)
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory
comma := ,
CPU_arm64 := aarch64
ifneq ($(strip $(ARCH)),)
CPU := $(or $(CPU_$(strip $(ARCH))),$(error ARCH: $(ARCH): unknown architecture (expected arm64)))
CROSS := $(CPU)-linux-gnu-
CC := $(CROSS)gcc
AR := $(CROSS)ar
endif
B := build/$(if $(CROSS),$(strip $(ARCH))/)$(if $(strip $(COVERAGE)),coverage,$(if $(strip $(SAN)),$(subst $(comma),-,$(strip $(SAN))),release))

# ---- flags: ours are appended to the user's CFLAGS, so that warnings stay enabled -----------
# A sanitizer's build is compiled as often as it runs: -O1 takes half the time to compile, and -g1 still names lines.
CFLAGS ?= $(if $(strip $(SAN)),-O1 -g1,-O2 -g)
OUR_CPPFLAGS = -D_GNU_SOURCE -DGPUFL_VERSION='"$(VERSION)"' -I. -Iinclude
OUR_CFLAGS = -std=c11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
             -Wformat=2 -fPIC -fvisibility=hidden -pthread $(if $(WERROR),-Werror) \
             -fdebug-prefix-map=$(CURDIR)=. \
             $(if $(strip $(SAN)),-fsanitize=$(strip $(SAN)) -fno-omit-frame-pointer \
             -fno-sanitize-recover=all) \
             $(if $(strip $(COVERAGE)),--coverage -fprofile-update=atomic)
ALL_FLAGS = $(OUR_CPPFLAGS) $(CPPFLAGS) $(CFLAGS) $(OUR_CFLAGS)

libs_of = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null)
UPLOAD_LIBS  := $(call libs_of,libcurl libzstd zlib json-c)
AGENT_LIBS    = $(UPLOAD_LIBS) -linotifytools # ships no .pc file
BACKEND_LIBS := $(call libs_of,libmicrohttpd sqlite3 libzstd zlib json-c)
TEST_LIBS    := $(call libs_of,cmocka)
BENCH_LIBS    = $(call libs_of,libzstd libssl zlib) -lcrypto

# ---- what is built --------------------------------------------
BASE      := $(wildcard base/*.c)
SCHEMA    := $(wildcard schema/*.c)
COLLECTOR := $(filter-out collector-lib/cupti/% collector-lib/inject/%, \
             $(wildcard collector-lib/*.c collector-lib/*/*.c))
UPLOAD    := $(wildcard upload/*.c upload/*/*.c)
AGENT     := $(filter-out agent/main.c,$(wildcard agent/*.c agent/*/*.c))
CLI       := $(filter-out cli/main.c,$(wildcard cli/*.c))
# What of gpufl needs libcurl and json-c: a module, so that recording needs the C library alone.
TRANSFER  := $(wildcard cli/transfer/*.c)
BACKEND   := $(filter-out backend/main.c,$(wildcard backend/*.c backend/*/*.c))
# The module that needs CUDA's headers is built where they are; without it Monitor runs.
CUPTI     := $(wildcard collector-lib/cupti/*.c)
CUPTI_INCLUDE := $(firstword $(patsubst %/cupti.h,%,$(wildcard $(foreach d,$(CUDA_HOME) \
             /usr/local/cuda /usr,$(d)/include/cupti.h $(d)/extras/CUPTI/include/cupti.h))))
CUPTI_FAKES = $(addprefix $(B)/tests/fake/,libcupti.so.13 without-flush/libcupti.so.13 \
             without-samples/libcupti.so.13)
FAKES      = $(B)/tests/fake/libnvidia-ml.so.1 $(B)/tests/fake/slow_sync.so \
             $(B)/tests/fake/stop_at_name.so $(B)/tests/fake/full_disk.so \
             $(B)/tests/fake/no_locks.so $(B)/tests/fake/read_error.so $(B)/tests/fake/fast_clock.so \
             $(B)/tests/fake/hostile_host.so $(B)/tests/fake/no_memory.so \
             $(if $(CUPTI_INCLUDE),$(CUPTI_FAKES))
SUPPORT   := $(wildcard tests/support/*.c)
UNIT      := $(wildcard tests/unit/test_*.c) $(wildcard tests/prop/test_*.c)
# Engine tests on the rig have one thread, but for this one: TSan would find nothing in the others.
RIG       := tests/support/(rig|rig_session|rig_backend|ended_sessions)\.h
THREADED  := %/test_loop_report.c
UNIT      := $(filter-out $(if $(findstring thread,$(SAN)),$(filter-out $(THREADED),$(shell grep -lE '$(RIG)' $(UNIT)))),$(UNIT))
HELPERS   := $(wildcard tests/e2e/*.c)
SOAKS     := $(wildcard tests/soak/*.c)
# They look at the sources, or at what the programs print: a sanitizer would find nothing.
RELEASE_ONLY := $(addprefix tests/e2e/test_,$(addsuffix .py,completions house packaging schema))
# Those in which threads of a program work side by side, each kind of thread in several; the others are
# for one: TSan makes them slower, and finds nothing that it does not find here.
TSAN_E2E  := $(addprefix tests/e2e/test_,$(addsuffix .py,agent backend backend_guard bare collector dashboard death \
             devices dropin export hung_driver kills limits liveness losses metrics monitor moved_roots read_ahead \
             rotation server service spool trace two upload))
E2E       := $(filter-out $(if $(strip $(SAN)),$(RELEASE_ONLY)),$(wildcard tests/e2e/test_*.py))
E2E       := $(if $(findstring thread,$(SAN)),$(TSAN_E2E),$(E2E))
SIM       := $(wildcard tests/sim/*.c)
HOSTILE   := $(wildcard tests/hostile/*.c)
BENCHES   := $(wildcard tests/bench/bench_*.c)
BENCH_SCRIPTS := $(wildcard tests/bench/bench_*.py)
BENCH_TOOLS := $(addprefix $(B)/tests/bench/,tree sink floor first writer poster)
FUZZERS   := $(wildcard tests/fuzz/fuzz_*.c)
EXAMPLES  := $(wildcard examples/*.c)
obj = $(patsubst %.c,$(B)/%.o,$(1))

PROGRAMS  := $(B)/gpufl-agent $(B)/gpufl $(B)/gpufl-backend
MODULES   := $(if $(CUPTI_INCLUDE),$(B)/libgpufl-cupti.so)
MODULES   += $(B)/libgpufl-inject.so
TRANSFER_MODULE := $(B)/libgpufl-transfer.so
LIBRARIES := $(B)/libgpufl.so $(B)/libgpufl.a $(B)/libgpufl-upload.so $(B)/libgpufl-upload.a $(MODULES) $(TRANSFER_MODULE)
UNIT_BINS    := $(UNIT:%.c=$(B)/%)
HELPER_BINS  := $(HELPERS:%.c=$(B)/%)
SOAK_BINS    := $(SOAKS:%.c=$(B)/%)
BENCH_BINS   := $(BENCHES:%.c=$(B)/%)
EXAMPLE_BINS := $(EXAMPLES:%.c=$(B)/%)
COMPLETIONS  := $(B)/completions/.made
SIM_BIN      := $(B)/tests/sim/sim
LIFE_BIN     := $(B)/tests/hostile/life
FUZZ_BINS    := $(FUZZERS:tests/fuzz/%.c=build/fuzz/%)
FUZZ_RUNS    := $(FUZZERS:tests/fuzz/fuzz_%.c=fuzz-run-%)

all: $(PROGRAMS) $(LIBRARIES) ## build everything into build/release/
agent: ## build only the agent
	@packaging/deps.sh agent
	@$(MAKE) $(JOBS) $(B)/gpufl-agent
collector: ## build only the collector; needs only a C compiler
	@packaging/deps.sh collector
	@$(MAKE) $(JOBS) $(B)/libgpufl.so $(B)/libgpufl.a $(MODULES)
.DEFAULT_GOAL := all
.PHONY: all agent collector deps demo check check-build check-run check-all lint lint-run layers \
        symbols fuzz fuzz-run $(FUZZ_RUNS) bench format install uninstall clean help \
        check-arm64 coverage check-e2e check-valgrind sim sim-check sim-mutants hostile soak check-page screenshots check-gpu prove-gpu test-fresh deb image-rootfs check-packages FORCE

# ---- rules -------------------------------------------------------------------------------------
Q   := $(if $(strip $(V)),,@)
say  = $(if $(strip $(V)),,@printf '  %-5s %s\n' '$(1)' '$(@:$(B)/%=%)')

$(B)/.flags: FORCE # a changed compiler or flag rebuilds everything
	@mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(CC) $(ALL_FLAGS))' | cmp -s - $@ || \
	  printf '%s\n' '$(subst ','\'',$(CC) $(ALL_FLAGS))' > $@
FORCE:

$(B)/%.o: %.c $(B)/.flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_FLAGS) -MMD -MP -c -o $@ $<

# An archive: each library and program takes only what it uses of these.
SHARED = $(B)/shared.a
$(SHARED): $(call obj,$(BASE) $(SCHEMA))

# nodelete: the writer thread and thread-local destructors outlive a dlclose
$(B)/libgpufl.so: $(call obj,$(COLLECTOR)) $(SHARED) collector-lib/exports.map
	$(call say,LINK)
	$(Q)$(CC) $(ALL_FLAGS) $(LDFLAGS) -shared -Wl,-soname,libgpufl.so.0,-z,nodelete \
	  -Wl,--version-script=collector-lib/exports.map -o $@ $(filter %.o %.a,$^) -ldl -pthread
	$(Q)ln -sf libgpufl.so $(B)/libgpufl.so.0

$(call obj,$(CUPTI)): OUR_CPPFLAGS += -isystem $(CUPTI_INCLUDE)
$(B)/libgpufl-cupti.so: $(call obj,$(CUPTI) $(addprefix collector-lib/core/,clock.c own_fd.c thread.c)) $(SHARED)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_FLAGS) $(LDFLAGS) -shared -Wl,-z,nodelete -o $@ $(filter %.o %.a,$^) -ldl -pthread

# Its libgpufl.so.0 is beside it in build/, one folder up where it is installed.
$(B)/libgpufl-inject.so: $(call obj,collector-lib/inject/inject.c) $(B)/libgpufl.so
	$(call say,LINK)
	$(Q)$(CC) $(ALL_FLAGS) $(LDFLAGS) -shared -Wl,-z,nodelete,-rpath,'$$ORIGIN:$$ORIGIN/..' -o $@ $(filter %.o %.so,$^)

$(B)/libgpufl-upload.so: $(call obj,$(UPLOAD)) $(SHARED) upload/exports.map
	$(call say,LINK)
	$(Q)$(CC) $(ALL_FLAGS) $(LDFLAGS) -shared -Wl,-soname,libgpufl-upload.so.0 \
	  -Wl,--version-script=upload/exports.map -o $@ $(filter %.o %.a,$^) $(UPLOAD_LIBS)
	$(Q)ln -sf libgpufl-upload.so $(B)/libgpufl-upload.so.0

$(B)/libgpufl.a: $(call obj,$(BASE) $(SCHEMA) $(COLLECTOR))
$(B)/libgpufl-upload.a: $(call obj,$(BASE) $(SCHEMA) $(UPLOAD))
$(B)/%.a:
	$(call say,AR)
	$(Q)rm -f $@; $(AR) rcs $@ $^

link = $(CC) $(ALL_FLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^)
$(B)/gpufl-agent: $(call obj,$(UPLOAD) $(AGENT) agent/main.c) $(SHARED)
	$(call say,LINK)
	$(Q)$(link) $(AGENT_LIBS)
$(B)/gpufl: $(call obj,$(COLLECTOR) $(CLI) cli/main.c) $(SHARED) | $(TRANSFER_MODULE)
	$(call say,LINK)
	$(Q)$(link) -ldl
# What gpufl and its module exchange: both have this number, and gpufl refuses a module with another one.
EXCHANGED := $(wildcard base/flag.h cli/transfer_module.h cli/*_arguments.h include/gpufl/*.h)
TRANSFER_INTERFACE := -DTRANSFER_INTERFACE='"$(firstword $(shell cat $(EXCHANGED) | cksum))"'
$(call obj,cli/transfer_module.c cli/transfer/transfer_verb.c): private OUR_CPPFLAGS += $(TRANSFER_INTERFACE)
$(call obj,cli/transfer_module.c cli/transfer/transfer_verb.c): $(EXCHANGED)
$(TRANSFER_MODULE): $(call obj,$(UPLOAD) $(TRANSFER)) $(SHARED)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_FLAGS) $(LDFLAGS) -shared -o $@ $(filter %.o %.a,$^) $(UPLOAD_LIBS)
$(B)/backend/http/page.o: $(wildcard backend/page/*)
$(B)/gpufl-backend: $(call obj,$(BACKEND) backend/main.c) $(SHARED)
	$(call say,LINK)
	$(Q)$(link) $(BACKEND_LIBS)

# One archive of all objects but the mains: each test takes what it uses of it. With all of them in every
# test, linking took as long as compiling.
TESTED = $(B)/tests/tested.a
TESTED_OBJECTS = $(call obj,$(BASE) $(SCHEMA) $(COLLECTOR) $(UPLOAD) $(AGENT) $(CLI) $(TRANSFER) $(BACKEND) $(SUPPORT))
$(TESTED): $(TESTED_OBJECTS)
$(UNIT_BINS) $(HELPER_BINS) $(SOAK_BINS) $(BENCH_BINS): %: %.o $(TESTED)
	$(call say,LINK)
	$(Q)$(link) $(TESTED) $(AGENT_LIBS) $(BACKEND_LIBS) $(TEST_LIBS) -ldl
$(B)/tests/unit/test_sim_lines: $(B)/tests/sim/lines.o
$(B)/tests/unit/test_record_clock: $(B)/collector-lib/cupti/record_clock.o
$(B)/tests/unit/test_pc_memory: $(B)/collector-lib/cupti/pc_memory.o
# The calls that tests/sim/calls.h declares lead to its own kernel.
SIM_CALLS := $(shell grep -o '__wrap_[a-z0-9_]*' tests/sim/calls.h)
$(SIM_BIN): $(call obj,$(SIM)) $(TESTED)
	$(call say,LINK)
	$(Q)$(link) $(SIM_CALLS:__wrap_%=-Wl$(comma)--wrap=%) $(AGENT_LIBS) $(BACKEND_LIBS) $(TEST_LIBS) -ldl
# Not linked with libgpufl, which is preloaded, or not.
$(LIFE_BIN): $(call obj,$(HOSTILE))
	$(call say,LINK)
	$(Q)$(link) -ldl
$(B)/tests/fake/libnvidia-ml.so.1: tests/fake/nvml.c
$(B)/tests/fake/slow_sync.so: tests/fake/slow_sync.c
$(B)/tests/fake/stop_at_name.so: tests/fake/stop_at_name.c
$(B)/tests/fake/full_disk.so: tests/fake/full_disk.c
$(B)/tests/fake/no_locks.so: tests/fake/no_locks.c
$(B)/tests/fake/read_error.so: tests/fake/read_error.c
$(B)/tests/fake/fast_clock.so: tests/fake/fast_clock.c
$(B)/tests/fake/hostile_host.so $(B)/tests/fake/no_memory.so: tests/fake/hostile_host.c
$(B)/tests/fake/no_memory.so: OUR_CPPFLAGS += -DFAKE_NO_MEMORY
$(CUPTI_FAKES): tests/fake/cupti.c tests/fake/cupti.h
$(CUPTI_FAKES): OUR_CPPFLAGS += -isystem $(CUPTI_INCLUDE)
$(B)/tests/fake/without-flush/libcupti.so.13: OUR_CPPFLAGS += -DcuptiActivityFlushAll=renamed
$(B)/tests/fake/without-samples/libcupti.so.13: OUR_CPPFLAGS += -DcuptiPCSamplingGetData=renamed
$(FAKES): $(B)/.flags
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OUR_CPPFLAGS) -std=c11 -Wall -Wextra -fPIC -shared -pthread -o $@ $(filter %.c,$^)
$(EXAMPLE_BINS): %: %.o $(B)/libgpufl.a $(B)/libgpufl-upload.a
	$(call say,LINK)
	$(Q)$(link) $(UPLOAD_LIBS) -ldl

$(B)/tests/bench/tree: $(B)/tests/bench/tree.o $(call obj,base/process_identity.c base/boot_id.c)
$(B)/tests/bench/floor: $(B)/tests/bench/floor.o
$(B)/tests/bench/first: $(B)/tests/bench/first.o
$(B)/tests/bench/first: BENCH_LIBS += $(call libs_of,libcurl)
$(B)/tests/bench/writer: $(B)/tests/bench/writer.o $(call obj,base/process_identity.c base/boot_id.c)
$(B)/tests/bench/poster: $(B)/tests/bench/poster.o $(SHARED)
$(B)/tests/bench/sink: $(call obj,$(addprefix tests/bench/sink,.c _parser.c _positions.c))
$(BENCH_TOOLS):
	$(call say,LINK)
	$(Q)$(link) $(BENCH_LIBS)

# ---- packages ------------------------------------------------------------------------------------
deps: ## install what the build and the tests lack, with apt
	@packaging/deps.sh build

# ---- demo, tests ---------------------------------------------------------------------------------
# The second make finds the packages that deps.sh has just installed.
demo: ## record 15 s, kill and restart the programs, compare; KEEP=1 keeps the page up
	@packaging/deps.sh build
	@$(MAKE) $(JOBS) $(PROGRAMS) $(EXAMPLE_BINS)
	@python3 examples/demo.py $(B)

check: ## run every test once; SAN=address,undefined or SAN=thread for sanitizers
	@packaging/deps.sh build
	@$(MAKE) $(JOBS) check-build
	@$(MAKE) check-run

check-build: $(PROGRAMS) $(LIBRARIES) $(UNIT_BINS) $(HELPER_BINS) $(LIFE_BIN) $(EXAMPLE_BINS) $(FAKES) $(COMPLETIONS)
check-run:
	@python3 tests/run.py --build $(B) $(UNIT_BINS) $(E2E)
# Programs that other programs start are not emulated, so these are the tests that start all themselves.
EMULATED = $(UNIT_BINS) $(addprefix tests/e2e/test_,backend.py collector.py openapi.py upload.py)
check-emulated-run:
	@EMULATOR='$(EMULATOR)' python3 tests/run.py --build $(B) $(EMULATED)

check-arm64: ## cross-build for arm64, run tests under qemu-user, build the packages (5 min)
	@packaging/deps.sh build deb arm64
	@$(MAKE) $(JOBS) ARCH=arm64 check-build
	@$(MAKE) ARCH=arm64 check-emulated-run
	@$(MAKE) ARCH=arm64 deb
	@lintian --allow-root --fail-on error,warning build/arm64/deb/*.changes

check-all: ## run every test in release, under ASan and UBSan, and what has threads under TSan
	@$(MAKE) check
	@$(MAKE) check SAN=address,undefined
	@$(MAKE) check SAN=thread

check-e2e: ## run every fault at full length: 1,000 kills, 10 GiB of backlog (15 min)
	@packaging/deps.sh build
	@$(MAKE) $(JOBS) check-build
	@E2E=full ROUNDS=3000 python3 tests/run.py --build $(B) $(filter $(B)/tests/prop/%,$(UNIT_BINS)) $(E2E)

# Excluded: programs are killed by the hundred before valgrind could report anything.
NOT_VALGRINDED = $(addprefix tests/e2e/test_,$(addsuffix .py,death crash kills))
check-valgrind: ## run unit and property tests, and what end-to-end tests start, under valgrind (7 min)
	@packaging/deps.sh build
	@$(MAKE) $(JOBS) check-build
	@VALGRIND=1 ROUNDS=4 python3 tests/run.py --build $(B) $(UNIT_BINS) $(filter-out $(NOT_VALGRINDED),$(E2E))

coverage: ## print the lines executed by the tests, per file; fail below 85 % of a folder
	@rm -rf build/coverage
	@$(MAKE) check COVERAGE=1
	@python3 tests/coverage.py build/coverage 85 collector-lib upload

SEEDS ?= # SEEDS=1..1000: these worlds; SEEDS=7: the history of one
SIM_SECONDS ?= 60
sim: ## simulate whole worlds: SEEDS=1..1000, SEEDS=7; without, fresh ones for SIM_SECONDS=60 (a soak: 36000)
	@packaging/deps.sh build
	@$(MAKE) $(JOBS) $(SIM_BIN)
	@$(SIM_BIN) $(if $(strip $(SEEDS)),$(SEEDS),--seconds $(SIM_SECONDS) $$(date +%s)00000000..$$(date +%s)99999999)
sim-check: $(SIM_BIN) ## that the same seed makes the same world, that the fixed plans pass, and mutants are up to date
	@python3 tests/sim/mutants.py
	@$(SIM_BIN) plans
	@$(SIM_BIN) --twice 1..50

LIVES ?= 100 # LIVES=10000: fresh ones; LIVES=1..100: these; LIVES==7: one, shown
hostile: ## lives of jobs on hostile hosts, with libgpufl and without: LIVES=10000, LIVES=1..100, LIVES==7
	@packaging/deps.sh build
	@$(MAKE) $(JOBS) $(LIBRARIES) $(FAKES) $(LIFE_BIN)
	@python3 tests/hostile/lives.py $(B) $(LIVES)

MUTANTS ?= # MUTANTS='name name': only these
MUTANT_SEEDS ?= 12000
sim-mutants: export COMPILE = $(CC) $(ALL_FLAGS)
sim-mutants: export LINK = $(CC) $(ALL_FLAGS) $(LDFLAGS) $(call obj,$(SIM)) $(TESTED_OBJECTS) \
             $(SIM_CALLS:__wrap_%=-Wl$(comma)--wrap=%) $(AGENT_LIBS) $(BACKEND_LIBS) $(TEST_LIBS) -ldl
sim-mutants: export LINK_TEST = $(CC) $(ALL_FLAGS) $(LDFLAGS) TEST $(TESTED_OBJECTS) \
             $(AGENT_LIBS) $(BACKEND_LIBS) $(TEST_LIBS) -ldl
sim-mutants: export LINK_AGENT = $(CC) $(ALL_FLAGS) $(LDFLAGS) $(call obj,$(UPLOAD) $(AGENT) agent/main.c) \
             $(SHARED) $(AGENT_LIBS)
sim-mutants: export LINK_BACKEND = $(CC) $(ALL_FLAGS) $(LDFLAGS) $(call obj,$(BACKEND) backend/main.c) \
             $(SHARED) $(BACKEND_LIBS)
sim-mutants: $(SIM_BIN) $(PROGRAMS) $(FAKES) ## switch rules off, one at a time: each has to be found (15 min, 60 at most)
	@python3 tests/sim/mutants.py $(B) $(MUTANT_SEEDS) $(MUTANTS)

soak: ## long runs: SOAK_GIB=20 through a spool of 512 MiB (20 min), SOAK_S=600 with schema checks
	@packaging/deps.sh build
	@$(MAKE) $(JOBS) $(PROGRAMS) $(SOAK_BINS) $(EXAMPLE_BINS) $(FAKES)
	@python3 tests/soak/soak_spool.py $(B)
	@python3 tests/soak/soak_schema.py $(B)

check-page: ## test the backend's page in a headless Chromium (1 min)
	@packaging/deps.sh build page
	@$(MAKE) $(JOBS) check-build
	@python3 tests/page/test_page.py $(B)
screenshots: ## make the images in docs/images/
	@packaging/deps.sh build page
	@$(MAKE) $(JOBS) check-build
	@python3 tests/page/screenshots.py $(B)

check-gpu: ## compare device metrics to nvidia-smi, measure their cost (NVIDIA GPU, nvcc)
	@packaging/deps.sh collector
	@$(MAKE) $(JOBS) $(B)/tests/gpu/sampled $(B)/tests/gpu/load
	@python3 tests/gpu/test_nvml.py $(B)
	@python3 tests/gpu/cost.py $(B)
prove-gpu: ## measure cost and correctness of the engines, into tests/gpu/RESULTS.md (GPU, PyTorch; 10 min)
	@packaging/deps.sh collector
	@$(MAKE) $(JOBS) $(B)/libgpufl.so $(MODULES) $(B)/tests/gpu/work $(B)/tests/gpu/libbare.so
	@python3 tests/gpu/prove.py $(B) tests/gpu/results.json; rc=$$?; python3 tests/gpu/results.py; exit $$rc
$(B)/tests/gpu/sampled: $(B)/tests/gpu/sampled.o $(B)/libgpufl.a
	$(call say,LINK)
	$(Q)$(link) -ldl
$(B)/tests/gpu/work: tests/gpu/work.cu $(B)/libgpufl.so $(B)/tests/gpu/libbare.so
	$(call say,NVCC)
	@mkdir -p $(@D)
	$(Q)nvcc -O2 -lineinfo -std=c++17 -arch=native -Iinclude -o $@ $< -L$(B) -lgpufl \
	  -L$(@D) -lbare -lcupti -lcuda -Xlinker -rpath,$(abspath $(B)):$(abspath $(@D))
$(B)/tests/gpu/libbare.so: tests/gpu/bare.c tests/gpu/bare_samples.c tests/gpu/other_tool.c
	$(call say,LINK)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_FLAGS) -isystem $(CUPTI_INCLUDE) -shared -fPIC -o $@ $^ \
	  $(addprefix -L$(CUPTI_INCLUDE:%/include=%)/lib64,/ /stubs) -lcupti -lcuda
$(B)/tests/gpu/load: tests/gpu/load.cu
	$(call say,NVCC)
	@mkdir -p $(@D)
	$(Q)nvcc -O2 -o $@ $<

test-fresh: ## run the README's commands in a bare Debian root (root, debootstrap; 8 min)
	@tests/fresh-root.sh

check-packages: ## build the packages twice, lint them, run them in a bare root that boots systemd (root; 5 min)
	@tests/packages.sh

# ---- fuzzing, benchmarks ---------------------------------------------------------------------------
FUZZ_LIBS = $(UPLOAD_LIBS) $(BACKEND_LIBS)
FUZZED = $(BASE) $(SCHEMA) $(UPLOAD) $(BACKEND) $(wildcard agent/options/*.c) \
          agent/listen_request.c agent/log_json.c \
          collector-lib/core/flat_json.c collector-lib/core/own_fd.c collector-lib/trace/elf_symbols.c \
          collector-lib/trace/build_id.c
FUZZ_CC = clang -g1 -O1 -fsanitize=fuzzer$(1),address,undefined -std=c11 -Werror $(OUR_CPPFLAGS)
build/fuzz/%.o: %.c
	@mkdir -p $(@D)
	@printf '  CC    %s\n' '$@'
	$(Q)$(call FUZZ_CC,-no-link) -MMD -MP -c -o $@ $<
build/fuzz/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.o $(FUZZED:%.c=build/fuzz/%.o)
	@printf '  FUZZ  %s\n' '$@'
	$(Q)$(call FUZZ_CC) -o $@ $^ $(FUZZ_LIBS) -pthread
# Kept: as parts of a chain they would be deleted, and the next make would compile and link all of it again.
.SECONDARY: $(patsubst %.c,build/fuzz/%.o,$(FUZZED) $(FUZZERS))
fuzz: ## run each fuzzer for FUZZ_SECONDS on its corpus
	@packaging/deps.sh build fuzz
	@$(MAKE) $(JOBS) $(FUZZ_BINS)
	@$(MAKE) $(JOBS) fuzz-run
fuzz-run: $(FUZZ_RUNS)
$(FUZZ_RUNS): fuzz-run-%: build/fuzz/fuzz_%
	@mkdir -p build/fuzz/new-$*
	$(Q)$< -max_total_time=$(FUZZ_SECONDS) -timeout=10 -artifact_prefix=build/fuzz/crash-$*- \
	  build/fuzz/new-$* tests/fuzz/corpus/$* >build/fuzz/$*.log 2>&1 || { tail -40 build/fuzz/$*.log; exit 1; }
	@echo "  RUN   $*: $$(tail -1 build/fuzz/$*.log)"

bench: ## print one JSON line per benchmark, with its floor
	@packaging/deps.sh build bench
	@$(MAKE) $(JOBS) $(PROGRAMS) $(MODULES) $(BENCH_BINS) $(BENCH_TOOLS) $(B)/tests/e2e/gpu_job \
	  $(if $(CUPTI_INCLUDE),$(CUPTI_FAKES))
	@for b in $(BENCH_BINS); do $$b || exit 1; done
	@for b in $(BENCH_SCRIPTS); do python3 $$b $(B) || exit 1; done

# ---- hygiene -----------------------------------------------------------------------------------------
C_FILES = $(shell git ls-files '*.c' '*.h')
format: ## format the C sources with clang-format
	clang-format -i $(C_FILES)
lint: ## check style, rooms, sizes, exported symbols; static analysis
	@packaging/deps.sh build lint
	@$(MAKE) lint-run
lint-run: layers symbols
	$(Q)clang-format --dry-run -Werror $(C_FILES)
	$(Q)cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr -j2 \
	  --suppress=missingIncludeSystem --std=c11 $(OUR_CPPFLAGS) $(TRANSFER_INTERFACE) $(BASE) $(SCHEMA) $(COLLECTOR) \
	  $(UPLOAD) agent cli backend
	@echo "lint: clean"
layers: $(call obj,$(BASE) $(SCHEMA) $(COLLECTOR) $(if $(CUPTI_INCLUDE),$(CUPTI)) collector-lib/inject/inject.c \
        $(UPLOAD) $(AGENT) $(CLI) $(TRANSFER) $(BACKEND) agent/main.c cli/main.c backend/main.c)
	@python3 tests/layers.py
	@python3 tests/house_rules.py $(B)
symbols: $(B)/libgpufl.so $(B)/libgpufl-upload.so $(MODULES) $(TRANSFER_MODULE)
	$(Q)for l in $^; do bad=$$(nm -D --defined-only $$l | awk '$$2 != "A" {print $$3}' | grep -v '^gpufl_\|^InitializeInjection$$' \
	  || true); test -z "$$bad" || { echo "symbols: $$l exports $$bad"; exit 1; }; done

# ---- install: DESTDIR for packagers ---------------------------------------------------------------------
filled = sed 's|@prefix@|$(prefix)|;s|@libdir@|$(libdir)|;s|@incdir@|$(incdir)|;s|@version@|$(VERSION)|'
PC   := gpufl.pc gpufl-upload.pc
DATA := packaging/prometheus/alerts.yml packaging/grafana/gpufl-agent.json schema/openapi.json
MAN := $(wildcard packaging/man/*)
$(COMPLETIONS): packaging/completions.py $(PROGRAMS)
	$(Q)python3 $< $(B) $(@D) $(EMULATOR) && touch $@
install: all $(COMPLETIONS) ## install into prefix (/usr/local), below DESTDIR if it is given
	$(INSTALL) -d $(addprefix $(DESTDIR),$(bindir) $(libdir)/pkgconfig $(libdir)/gpufl $(incdir)/gpufl \
	  $(datadir)/gpufl $(addprefix $(mandir)/man,1 3 8) $(bashdir) $(zshdir) $(fishdir))
	$(INSTALL) -m755 $(PROGRAMS) $(DESTDIR)$(bindir)
	$(INSTALL) -m644 $(filter %.a,$(LIBRARIES)) $(DESTDIR)$(libdir)
	$(INSTALL) -m755 $(MODULES) $(TRANSFER_MODULE) $(DESTDIR)$(libdir)/gpufl
	for l in libgpufl libgpufl-upload; do \
	  $(INSTALL) -m755 $(B)/$$l.so $(DESTDIR)$(libdir)/$$l.so.0 && \
	  ln -sf $$l.so.0 $(DESTDIR)$(libdir)/$$l.so || exit 1; done
	$(INSTALL) -m644 $(wildcard include/gpufl/*.h include/gpufl/*.hpp) $(DESTDIR)$(incdir)/gpufl
	for d in core upload; do $(INSTALL) -d $(DESTDIR)$(incdir)/gpufl/$$d && \
	  $(INSTALL) -m644 include/gpufl/$$d/*.hpp $(DESTDIR)$(incdir)/gpufl/$$d || exit 1; done
	$(INSTALL) -m644 $(DATA) $(DESTDIR)$(datadir)/gpufl
	for p in $(PC); do $(filled) packaging/$$p.in >$(DESTDIR)$(libdir)/pkgconfig/$$p || exit 1; done
	for m in $(MAN); do sed 's/@version@/$(VERSION)/' $$m \
	  >$(DESTDIR)$(mandir)/man$${m##*.}/$${m##*/} || exit 1; done
	for p in $(notdir $(PROGRAMS)); do \
	  $(INSTALL) -m644 $(B)/completions/$$p.bash $(DESTDIR)$(bashdir)/$$p && \
	  $(INSTALL) -m644 $(B)/completions/$$p.zsh $(DESTDIR)$(zshdir)/_$$p && \
	  $(INSTALL) -m644 $(B)/completions/$$p.fish $(DESTDIR)$(fishdir) || exit 1; done
	@test -n '$(DESTDIR)' || packaging/ldconfig.sh '$(libdir)'
uninstall: ## remove what install installed
	rm -f $(addprefix $(DESTDIR)$(bindir)/,$(notdir $(PROGRAMS)))
	rm -f $(foreach l,libgpufl libgpufl-upload,$(addprefix $(DESTDIR)$(libdir)/$(l),.so .so.0 .a))
	rm -f $(addprefix $(DESTDIR)$(libdir)/pkgconfig/,$(PC))
	rm -f $(foreach m,$(MAN),$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(m)))/$(notdir $(m)))
	rm -f $(foreach p,$(notdir $(PROGRAMS)),$(DESTDIR)$(bashdir)/$(p) $(DESTDIR)$(zshdir)/_$(p) \
	  $(DESTDIR)$(fishdir)/$(p).fish)
	rm -rf $(DESTDIR)$(incdir)/gpufl $(DESTDIR)$(libdir)/gpufl $(DESTDIR)$(datadir)/gpufl
	@test -n '$(DESTDIR)' || packaging/ldconfig.sh '$(libdir)'

# ---- packages -------------------------------------------------------------------------------------------
image-rootfs: $(B)/gpufl-agent ## the root of the container image, in build/image/
	@packaging/image-rootfs.sh $(B) build/image
# Built from the last commit, in a directory of its own, so that nothing else gets into a package.
DEB := build/$(if $(CROSS),$(strip $(ARCH))/)deb
deb: ## Debian packages of the last commit, in build/deb/; ARCH=arm64: in build/arm64/deb/
	@packaging/deps.sh build deb $(if $(CROSS),$(strip $(ARCH)))
	$(Q)rm -rf $(DEB) && mkdir -p $(DEB)/gpufl
	$(Q)git archive HEAD | tar -x -C $(DEB)/gpufl
	$(Q)cd $(DEB)/gpufl && cp -r packaging/debian debian && \
	  cp packaging/systemd/gpufl-agent.* debian/ && \
	  cp packaging/systemd/gpufl-backend.service debian/gpufl.gpufl-backend.service
	$(Q)cd $(DEB)/gpufl && SOURCE_DATE_EPOCH=$$(git -C $(CURDIR) log -1 --format=%ct) \
	  env -u ARCH -u MAKEFLAGS \
	  dpkg-buildpackage -us -uc -b $(if $(CROSS),-a $(strip $(ARCH))) $(JOBS)
	@ls -l $(DEB)/*.deb

clean: ## remove build/
	rm -rf build
help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
	  while IFS='|' read -r t h; do printf '  %-14s %s\n' "$$t" "$$h"; done

-include $(patsubst %.c,build/fuzz/%.d,$(FUZZED) $(FUZZERS))
-include $(patsubst %.c,$(B)/%.d,$(BASE) $(SCHEMA) $(COLLECTOR) $(CUPTI) collector-lib/inject/inject.c $(UPLOAD) $(AGENT) $(CLI) $(TRANSFER) $(BACKEND) \
  $(SUPPORT) $(UNIT) $(HELPERS) $(SOAKS) $(SIM) $(HOSTILE) $(BENCHES) \
  $(wildcard tests/bench/*.c) $(EXAMPLES) agent/main.c cli/main.c backend/main.c)
