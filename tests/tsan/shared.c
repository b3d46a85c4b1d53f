/* What shares memory between threads inside one process, under ThreadSanitizer: the cache of fitted
 * states, the pool that passes borrow, metrics, log lines and ids. Each part is hammered by THREADS
 * threads; a race ends the program with 66. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/security/ids.h"
#include "services/inference/pool.h"
#include "services/inference/states/states.h"
#include "tests/infra/check.h"

enum { THREADS = 8, TURNS = 300, KEYS = 12, STATE = 64 };

int passed, failed;

static tab_states *states;
static tab_pool *pool;
static atomic_int fits, freed;

/* ---- the cache: a state is whole, its key's, and never freed while it is borrowed ------------ */

static void free_state(void *state)
{
    memset(state, 0xee, STATE);
    free(state);
    atomic_fetch_add(&freed, 1);
}

static tab_status fit(void *arg, void **ret, size_t *ret_bytes, tab_error *err)
{
    const unsigned *key = arg;
    unsigned char *state = malloc(STATE);
    if (atomic_fetch_add(&fits, 1) % 17 == 3) { /* some fits fail, for all who wait for them */
        free(state);
        return tab_fail(err, TAB_UNAVAILABLE, NULL, "no fit");
    }
    if (*key % 3 == 0)
        usleep(500);
    memset(state, (int)*key, STATE);
    *ret = state;
    *ret_bytes = 100;
    return TAB_OK;
}

static void *own_key(void *arg)
{
    unsigned *k = malloc(sizeof *k);
    *k = *(unsigned *)arg;
    return k;
}

static const tab_states_maker maker = { own_key, fit, free };

static bool is_of(const tab_loan *loan, unsigned key)
{
    const unsigned char *state = tab_loan_state(loan);
    bool whole = true;
    for (size_t i = 0; i < STATE; i++)
        whole &= state[i] == key;
    return whole;
}

static void *borrow(void *arg)
{
    unsigned seed = (unsigned)(size_t)arg;
    size_t wrong = 0;
    for (int i = 0; i < TURNS; i++) {
        unsigned key = (seed = seed * 1664525u + 1013904223u) >> 16, what = key >> 8;
        char name[16];
        tab_loan *loan = NULL;
        bool warm;
        key %= KEYS;
        snprintf(name, sizeof name, "e%u/1", key);
        if (what % 31 == 0) {
            tab_states_drop(states, tab_str_of("e1"));
        } else if (what % 7 == 0) { /* a creation hands its fit over */
            void *made = malloc(STATE);
            memset(made, (int)key, STATE);
            if (tab_states_put(states, tab_str_of(name), made, 100, &loan)) {
                wrong += !is_of(loan, key);
                tab_states_give(states, loan);
            }
        } else if (tab_states_take(states, tab_str_of(name), &maker, &key, NULL, &loan, &warm, NULL) ==
                   TAB_OK) {
            wrong += !is_of(loan, key);
            tab_states_give(states, loan);
        }
        tab_states_look(states);
    }
    return (void *)wrong;
}

/* ---- the pool: every index once, also for loops in loops of several callers ------------------ */

typedef struct {
    _Atomic int hits[64];
    int plain[64]; /* written by whoever has the index, read by the caller after the loop */
} tally;

static void inner(void *arg, size_t i)
{
    tally *t = arg;
    atomic_fetch_add(&t->hits[i], 1);
    t->plain[i]++;
}

static void outer(void *arg, size_t i)
{
    tally *t = arg;
    tab_pool_for(pool, 64, inner, &t[i]);
}

static void *loops(void *arg)
{
    (void)arg;
    size_t wrong = 0;
    for (int round = 0; round < 20; round++) {
        tally *t = calloc(4, sizeof *t);
        tab_pool_for(pool, 4, outer, t);
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 64; i++)
                wrong += t[k].hits[i] != 1 || t[k].plain[i] != 1;
        free(t);
    }
    return (void *)wrong;
}

/* ---- metrics, log, ids ----------------------------------------------------------------------- */

static void *notes(void *arg)
{
    char label[32], id[TAB_ID];
    size_t n = (size_t)arg;
    for (int i = 0; i < TURNS; i++) {
        snprintf(label, sizeof label, "turn=\"%d\"", i % 5);
        tab_metric_add(tab_counter("tabella_test_total", "Turns", label), 1);
        tab_metric_set(tab_gauge("tabella_test", "Turn", NULL), (double)i);
        tab_metric_observe(tab_histogram("tabella_test_seconds", "Turns", label), 0.001 * i);
        tab_id_new(id, "req_");
        tab_log_context(id, n % 2 ? "org_a" : "org_b");
        tab_log_fields(TAB_INFO, "a turn", "id", id, NULL);
        tab_log_context(NULL, NULL);
    }
    return NULL;
}

static size_t hammer(void *(*fn)(void *))
{
    pthread_t t[THREADS];
    size_t wrong = 0;
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, fn, (void *)(i + 1)) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++) {
        void *w = NULL;
        pthread_join(t[i], &w);
        wrong += (size_t)w;
    }
    return wrong;
}

int main(void)
{
    tab_log_open("tsan", TAB_INFO);
    states = tab_states_new(500, free_state); /* room for five of twelve */
    pool = tab_pool_new(3, false);
    CHECK(hammer(borrow) == 0);
    tab_states_figures f = tab_states_look(states);
    CHECK(f.hits > 0 && f.evicted > 0 && f.bytes <= 500);
    CHECK(hammer(loops) == 0);
    hammer(notes);
    tab_states_free(states);
    tab_pool_free(pool);
    printf("shared: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
