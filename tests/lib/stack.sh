# A private stack for one test script: source it, call stack_up [--servers], and all is gone at exit.
#   stack_up [--servers]      starts it in a folder of its own (TAB_RUN), without fsync
#   check "what holds" CMD    counts CMD's success
#   health NAME PATH          the answer of a daemon's health port
#   pid_of NAME  port_of NAME
#   infra PROGRAM             a started stack, and what tests/infra/PROGRAM.c finds on it
#   no_restarts               checks that no daemon died
#   finish                    prints the closing line and exits accordingly
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
SUITE=$(basename "$0")
passed=0 failed=0 skipped=0
# not under TMPDIR of a user who hides it: PostgreSQL's user must reach it
TAB_RUN=$(mktemp -d "/tmp/tabella-$SUITE-XXXXXX"); chmod 755 "$TAB_RUN"
export TAB_RUN TAB_STACK_FAST=1
stack_up() { tools/stack up --no-sample "$@" || { tail -n 20 "$TAB_RUN"/log/*.log; return 1; }; }
stack_clean() {
    tools/stack down >/dev/null 2>&1
    if [ -n "${TAB_KEEP:-}" ]; then echo "kept: $TAB_RUN"; else rm -rf "$TAB_RUN"; fi
}
trap stack_clean EXIT
check() {
    local what=$1; shift
    if "$@"; then passed=$((passed + 1)); echo "ok   $what"
    else failed=$((failed + 1)); echo "FAIL $what"; fi
}
add_line() { # adds a program's own closing line "x: N passed, N failed" and its exit code
    local p f; p=$(sed -nE 's/.*[: ]([0-9]+) passed.*/\1/p' <<<"$1")
    f=$(sed -nE 's/.* ([0-9]+) failed.*/\1/p' <<<"$1")
    passed=$((passed + ${p:-0})); failed=$((failed + ${f:-0}))
    [ "$2" -eq 0 ] || [ "${f:-0}" -gt 0 ] || failed=$((failed + 1))
}
port_of() { jq -r --arg n "$1" '.[$n] // empty' "$TAB_RUN/ports.json"; }
pid_of() { jq -r --arg n "$1" '.children[$n].pid // empty' "$TAB_RUN/state.json"; }
health() { curl -s -m 60 "http://127.0.0.1:$(port_of "$1-health")$2"; }
wait_for() { # wait_for SECONDS CMD...
    local end=$(($(date +%s%N) + $1 * 1000000000)); shift
    until "$@" >/dev/null 2>&1; do [ "$(date +%s%N)" -lt "$end" ] || return 1; sleep 0.05; done
}
infra() {
    make --no-print-directory -s -j"$(nproc)" infra-programs >/dev/null \
        || { echo "$SUITE: 0 passed, 1 failed"; exit 1; }
    stack_up >/dev/null || { echo "$SUITE: 0 passed, 1 failed"; exit 1; }
    eval "$(tools/stack up --servers)"
    local out rc
    out=$(timeout 900 "build/release/infra/$1" 2>"$TAB_RUN/$1.err"); rc=$?
    echo "$out"; add_line "$(tail -n1 <<<"$out")" $rc
}
no_restarts() { check "no daemon died on the way" \
    [ "$(jq '[.restarts[]?] | add // 0' "$TAB_RUN/state.json")" = 0 ]; }
finish() { echo "$SUITE: $passed passed, $failed failed, $skipped skipped"; [ "$failed" -eq 0 ]; exit; }
