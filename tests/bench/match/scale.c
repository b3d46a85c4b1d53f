/* Two generated tables of people with ten attributes, 70% of rows in both, one to three errors a row:
 * time and memory of the whole understanding of two tables. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "services/inference/engine/link/cross_tables.h"
#include "tests/bench/match/cases.h"

static uint64_t state;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static void word(char *out, size_t syllables, uint32_t from)
{
    static const char *const s[] = { "ka",  "lo", "mi",  "ren", "tu",  "sa",
                                     "vel", "no", "dri", "pha", "ber", "gus" };
    out[0] = 0;
    for (size_t i = 0; i < syllables; i++, from /= 12)
        strcat(out, s[from % 12]);
}

enum { COLS = 10, WIDTH = 48 };

static void person(uint32_t id, char cell[COLS][WIDTH])
{
    state = id * 2654435761u + 17;
    draw(2);
    word(cell[0], 2, draw(144));
    word(cell[1], 3, draw(1728));
    snprintf(cell[2], WIDTH, "%u", 1 + draw(220));
    word(cell[3], 3, draw(1200));
    strcat(cell[3], draw(2) ? " street" : " road");
    word(cell[4], 3, draw(900));
    word(cell[5], 3, draw(600));
    snprintf(cell[6], WIDTH, "%u", 1000 + draw(8000));
    snprintf(cell[7], WIDTH, "%.3s", "nswvicqldsawas" + 3 * draw(4));
    snprintf(cell[8], WIDTH, "%u-%02u-%02u", 1930 + draw(75), 1 + draw(12), 1 + draw(28));
    snprintf(cell[9], WIDTH, "%07u", draw(10000000));
}

static void build(tab_arena *a, tab_table *t, const char *id, uint32_t from, size_t rows, bool errors)
{
    tab_builder *b[COLS];
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, TAB_S(""));
    for (size_t r = 0; r < rows; r++) {
        char cell[COLS][WIDTH];
        person(from + (uint32_t)r, cell);
        state ^= errors ? 0x5bd1e995u : 0;
        for (uint32_t k = errors ? 1 + draw(3) : 0; k > 0; k--) {
            char *s = cell[draw(COLS)];
            size_t n = strlen(s);
            if (n > 3)
                s[draw((uint32_t)n)] = (char)('a' + draw(26));
        }
        for (size_t c = 0; c < COLS; c++)
            tab_builder_text(b[c], tab_str_of(cell[c]));
    }
    bool ok = true;
    for (size_t c = 0; c < COLS; c++)
        ok = tab_builder_finish(b[c], &col[c]) && ok;
    *t = (tab_table){ .id = tab_str_of(id), .rows = ok ? rows : 0, .cols = COLS, .col = col };
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct {
    atomic_size_t next;
    size_t n;
    void (*fn)(void *, size_t);
    void *ctx;
} work;

static void *take_work(void *arg)
{
    work *w = arg;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->n;)
        w->fn(w->ctx, i);
    return NULL;
}

static void on_threads(void *arg, size_t n, void (*fn)(void *, size_t), void *ctx)
{
    size_t threads = *(const size_t *)arg;
    work w = { .n = n, .fn = fn, .ctx = ctx };
    pthread_t t[16];
    for (size_t i = 1; i < threads; i++)
        pthread_create(&t[i], NULL, take_work, &w);
    take_work(&w);
    for (size_t i = 1; i < threads; i++)
        pthread_join(t[i], NULL);
}

/* FNV-1a of the whole answer: equal for any number of threads, and before and after what only makes it
 * quicker. */
static uint64_t digest(const Tabella__CrossTableMap *map, const Tabella__UnifiedRows *unified)
{
    const ProtobufCMessage *part[] = { &map->base, &unified->base };
    uint64_t h = 0xcbf29ce484222325u;
    for (int k = 0; k < 2; k++) {
        size_t n = protobuf_c_message_get_packed_size(part[k]);
        uint8_t *bytes = malloc(n + 1);
        if (bytes == NULL)
            return 0;
        protobuf_c_message_pack(part[k], bytes);
        for (size_t i = 0; i < n; i++)
            h = (h ^ bytes[i]) * 0x100000001b3u;
        free(bytes);
    }
    return h;
}

void scale_run(size_t rows, size_t threads)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    tab_table t[2];
    build(a, &t[0], "a", 0, rows, false);
    build(a, &t[1], "b", (uint32_t)(rows * 3 / 10), rows, true);
    tab_engine e = { .arena = a, .parallel_for = threads > 1 ? on_threads : NULL, .parallel_arg = &threads };
    tab_profile *p[2];
    tab_error err = { 0 };
    Tabella__Bundle b = TABELLA__BUNDLE__INIT;
    double from = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    double mine = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < 2; i++)
        if (tab_profile_table(&e, &t[i], &p[i], &err) != TAB_OK) {
            printf("profile: %s\n", err.message);
            return;
        }
    double mid = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (tab_cross_tables(&e, p, 2, 0.5, &b, NULL, &err) != TAB_OK) {
        printf("cross tables: %s\n", err.message);
        return;
    }
    double end = seconds(CLOCK_PROCESS_CPUTIME_ID);
    const Tabella__CrossTableMap *map = b.cross_table_map;
    size_t right = 0, said = map->entity_matches->n_a_row;
    for (size_t i = 0; i < said; i++)
        right += map->entity_matches->a_row[i] == map->entity_matches->b_row[i] + rows * 3 / 10;
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("%8zu rows a side, %zu thread%s: profile %.3f s, map and records %.3f s (CPU; "
           "the calling thread's part of all %.3f s, wall %.3f s), %ld MB; P %.4f R %.4f; digest %016llx\n",
           rows, threads, threads > 1 ? "s" : "", mid - from, end - mid,
           seconds(CLOCK_THREAD_CPUTIME_ID) - mine, seconds(CLOCK_MONOTONIC) - wall, u.ru_maxrss / 1024,
           said > 0 ? (double)right / (double)said : 0, (double)right / (double)(rows - rows * 3 / 10),
           (unsigned long long)digest(map, b.unified_rows));
}
