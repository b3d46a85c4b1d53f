/* A pass over the files of a run: pieces are taken off them in order, a batch at a time, and read on all
 * threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/tabella/large/large.h"

atomic_bool large_stopped;

void large_stop(int signal)
{
    (void)signal;
    atomic_store(&large_stopped, true);
}

double large_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show(large *l, uint64_t done)
{
    double share = (double)done / (double)(l->size.bytes > 0 ? l->size.bytes : 1), at = large_now();
    double left = share > 0.005 ? (at - l->began) * (1 - share) / share : 0;
    if (l->e.progress == NULL || at - l->shown < 0.2)
        return;
    l->shown = at;
    fprintf(stderr, "\r%3.0f%%  %-24s", 100 * share, l->phase);
    if (left > 0)
        fprintf(stderr, " %2.0f:%02.0f left ", floor(left / 60), fmod(left, 60));
}

typedef struct {
    large *l;
    tab_piece piece[LARGE_BATCH];
    tab_arena *a[LARGE_BATCH];
    const tab_table *table[LARGE_BATCH];
    size_t wide[LARGE_BATCH];
    tab_status status[LARGE_BATCH];
    tab_error err[LARGE_BATCH];
} batch;

static void read_piece(void *arg, size_t i)
{
    batch *b = arg;
    b->a[i] = tab_arena_new(SIZE_MAX / 2);
    b->status[i] = b->a[i] == NULL ? tab_no_memory(&b->err[i])
                                   : tab_piece_read(b->l->pieces, &b->piece[i], b->a[i], &b->table[i],
                                                    &b->wide[i], &b->err[i]);
    tab_piece_free(&b->piece[i]);
}

/* Pieces that an earlier run is done with. */
static tab_status skip(large *l, tab_error *err)
{
    uint64_t done;
    for (; l->skip > 0; l->skip--) {
        tab_piece x = { 0 };
        TAB_TRY(tab_pieces_next(l->pieces, &x, &done, err));
        if (x.bytes == NULL)
            break;
        tab_piece_free(&x);
        l->past++;
        if (atomic_load(&large_stopped))
            return tab_fail(err, TAB_CANCELLED, "", "interrupted");
    }
    l->skip = 0;
    return TAB_OK;
}

static tab_status one_batch(large *l, batch *b, size_t *ret_n, large_fn fn, void *arg, tab_error *err)
{
    uint64_t done = 0;
    tab_status s = TAB_OK;
    size_t n = 0;
    for (; s == TAB_OK && n < l->batch; n++) {
        s = tab_pieces_next(l->pieces, &b->piece[n], &done, err);
        if (b->piece[n].bytes == NULL)
            break;
    }
    *ret_n = n;
    if (s == TAB_OK && atomic_load(&large_stopped))
        s = tab_fail(err, TAB_CANCELLED, "", "interrupted");
    if (s == TAB_OK)
        tab_engine_for(&l->e, n, read_piece, b);
    for (size_t i = 0; i < n; i++) {
        tab_piece_free(&b->piece[i]);
        if (s == TAB_OK && b->status[i] != TAB_OK) {
            s = b->status[i];
            *err = b->err[i];
        }
        l->wide += b->wide[i];
    }
    l->past += n;
    if (s == TAB_OK && n > 0)
        s = fn(l, b->table, n, arg, err);
    for (size_t i = 0; i < n; i++) {
        tab_arena_free(b->a[i]);
        b->a[i] = NULL;
    }
    show(l, done);
    return s;
}

tab_status large_pass(large *l, const char *phase, large_fn fn, void *arg, tab_error *err)
{
    batch *b = calloc(1, sizeof *b);
    tab_status s = b != NULL ? TAB_OK : tab_no_memory(err);
    l->phase = phase;
    l->began = large_now();
    l->wide = l->past = 0;
    tab_pieces_rewind(l->pieces);
    if (s == TAB_OK)
        s = skip(l, err);
    for (size_t n = 1; s == TAB_OK && n > 0;) {
        b->l = l;
        s = one_batch(l, b, &n, fn, arg, err);
    }
    free(b);
    return s;
}
