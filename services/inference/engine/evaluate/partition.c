/* See partition.h. The split is by a hash of the row's number (or unit, or entity) and the seed: within each
 * class the quarter with the least hashes is held out, at least one row of a class that has two. So the same
 * snapshot and seed hold out the same rows. */
#include "services/inference/engine/evaluate/partition.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"

/* The share of the rows that is held out, and the runs of times that rows which follow each other are blocks
 * of; chosen by hand. */
static const double HELD_SHARE = 0.25;
enum { RUNS = 20 };

/* A row with a target, as the split orders it. */
typedef struct {
    uint64_t hash;
    uint32_t row, class;
} keyed;

/* For qsort: strata together, then by hash. */
static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* What goes together with row i, by number. */
static uint32_t whole_of(const tab_partition_by *by, size_t i)
{
    return by->apart != NULL ? by->apart[i] : by->unit != NULL ? by->unit[i] : (uint32_t)i;
}

/* test[row] for every row with a target. */
static bool split(const tab_partition_by *by, bool *test)
{
    keyed *k = malloc((by->rows + 1) * sizeof *k);
    uint32_t *stratum =
        malloc((by->rows + 1) * sizeof *stratum); /* of a unit: its first row's that has one */
    bool ok = k != NULL && stratum != NULL, together = by->apart != NULL || by->unit != NULL;
    size_t n = 0;
    for (size_t i = by->rows; ok && i-- > 0;)
        if (by->class[i] != TAB_NULL && by->apart == NULL)
            stratum[by->unit != NULL ? by->unit[i] : i] = by->class[i];
    /* entities go together, so they are not held out class by class */
    for (size_t i = 0; ok && i < by->rows; i++)
        if (by->class[i] != TAB_NULL) {
            uint32_t of = whole_of(by, i);
            k[n++] = (keyed){ tab_mix2(of, by->seed + 11), (uint32_t)i, by->apart != NULL ? 0 : stratum[of] };
        }
    assert(n <= by->rows);
    if (ok)
        qsort(k, n, sizeof *k, by_key);
    for (size_t i = 0; ok && i < n;) {
        /* one class, or all rows; the first HELD_SHARE of its hashes are held out */
        size_t end = i;
        while (end < n && k[end].class == k[i].class)
            end++;
        size_t want = (size_t)((double)(end - i) * HELD_SHARE + 0.5);
        if (want == 0 && end - i > 1)
            want = 1;
        for (size_t j = i; j < end; j++) {
            /* rows of one unit or entity go together */
            bool same = j > i && together && k[j].hash == k[j - 1].hash;
            test[k[j].row] = same ? test[k[j - 1].row] : j - i < want;
        }
        i = end;
    }
    free(k);
    free(stratum);
    return ok;
}

/* A row and its time. */
typedef struct {
    double time;
    uint32_t row;
} dated;

static int by_time(const void *a, const void *b)
{
    const dated *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* test[row] for the last HELD_SHARE of the rows with a target; none has the time of one that stays. run
 * (rows): of those, which of RUNS runs of times. False: memory. */
static bool split_late(const tab_partition_by *by, bool *test, uint32_t *run)
{
    dated *k = malloc((by->rows + 1) * sizeof *k);
    size_t n = 0;
    if (k == NULL)
        return false;
    for (size_t i = 0; i < by->rows; i++)
        if (by->class[i] != TAB_NULL && !isnan(by->time[i]))
            k[n++] = (dated){ by->time[i], (uint32_t)i };
    qsort(k, n, sizeof *k, by_time);
    size_t from = n - (size_t)((double)n * HELD_SHARE + 0.5);
    while (from > 0 && from < n && !(k[from].time > k[from - 1].time))
        from++;
    assert(from == 0 || from == n || k[from].time > k[from - 1].time); /* no time on both sides of the cut */
    for (size_t i = from; i < n; i++) {
        test[k[i].row] = true;
        run[k[i].row] = (uint32_t)((i - from) * RUNS / (n - from));
        assert(run[k[i].row] < RUNS);
    }
    free(k);
    return true;
}

/* Late rows that are copies of earlier ones are no test: they stay with those. False: memory. */
static bool keep_copies(const tab_partition_by *by, bool *test)
{
    bool *early = calloc(by->rows + 1, sizeof *early);
    if (early == NULL)
        return false;
    for (size_t i = 0; i < by->rows; i++)
        early[by->unit[i]] = early[by->unit[i]] || (by->class[i] != TAB_NULL && !test[i]);
    for (size_t i = 0; i < by->rows; i++)
        test[i] = test[i] && !early[by->unit[i]];
    free(early);
    return true;
}

/* A block and where it stands. */
static int by_block(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Numbers the blocks of the held rows from 0. of (rows). False: memory. */
static bool number_blocks(tab_arena *a, size_t rows, const uint32_t *of, tab_partition *ret)
{
    uint64_t *k = malloc((ret->held + 1) * sizeof *k);
    ret->block = tab_arena_new_of(a, uint32_t, ret->held + 1);
    size_t n = 0;
    bool ok = k != NULL && ret->block != NULL;
    for (size_t i = 0; ok && i < rows; i++)
        if (ret->test[i]) {
            k[n] = (uint64_t)of[i] << 32 | n;
            n++;
        }
    if (ok)
        qsort(k, n, sizeof *k, by_block);
    for (size_t i = 0; ok && i < n; i++) {
        ret->blocks += i == 0 || k[i] >> 32 != k[i - 1] >> 32;
        ret->block[(uint32_t)k[i]] = (uint32_t)ret->blocks - 1;
    }
    free(k);
    return ok;
}

bool tab_partition_rows(tab_arena *a, const tab_partition_by *by, tab_partition *ret)
{
    uint32_t *run = by->time == NULL ? NULL : tab_arena_new_of(a, uint32_t, by->rows + 1);
    *ret = (tab_partition){ .test = tab_arena_new_of(a, bool, by->rows + 1) };
    if (ret->test == NULL || (by->time != NULL && run == NULL))
        return false;
    if (by->time != NULL ? !split_late(by, ret->test, run) : !split(by, ret->test))
        return false;
    if (by->time != NULL && by->unit != NULL && !keep_copies(by, ret->test))
        return false;
    for (size_t i = 0; i < by->rows; i++)
        ret->held += ret->test[i];
    const uint32_t *of = by->time != NULL ? run : by->apart != NULL ? by->apart : by->unit;
    if (of != NULL)
        return number_blocks(a, by->rows, of, ret);
    ret->blocks = ret->held;
    return true;
}

tab_table *tab_partition_table(tab_arena *a, const tab_table *t, const bool *pick, bool which)
{
    tab_table *s = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    if (s == NULL || col == NULL)
        return NULL;
    *s = (tab_table){ .id = t->id, .cols = t->cols, .col = col };
    for (size_t c = 0; c < t->cols; c++) {
        /* cells are copied, so that the parts are tables like any other */
        tab_builder *b = tab_builder_new(a, t->col[c].name);
        for (size_t r = 0; b != NULL && r < t->rows; r++)
            if (pick[r] == which)
                tab_builder_cell(b, tab_cell_at(&t->col[c], r));
        if (b == NULL)
            return NULL;
        s->rows = tab_builder_rows(b);
        if (!tab_builder_finish(b, &col[c]))
            return NULL;
    }
    return s;
}
