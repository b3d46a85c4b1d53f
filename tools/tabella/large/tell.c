/* What a table that was read in passes says of all its rows, in place of what its sample does. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/message.h"
#include "tools/tabella/large/large.h"

static const double LEVELS[] = { 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99 };
enum { LEVEL_COUNT = sizeof LEVELS / sizeof *LEVELS };

/* ---- columns -------------------------------------------------------------------------------------- */

static tab_str mark_of(const Tabella__ColumnProfile *m, size_t i)
{
    return (tab_str){ (const char *)m->missing_marks[i].data, m->missing_marks[i].len };
}

/* Cells that are missing: those that are not there, and the marks. A mark that the counters lost stands for
 * the sample's share. */
static double missing(const large *l, size_t c, const Tabella__ColumnProfile *m)
{
    uint64_t none = l->rows - tab_sketch_present(l->sketch[c]), marks = 0;
    bool exact = true;
    if (l->rows == 0)
        return 0;
    for (size_t i = 0; i < m->n_missing_marks; i++) {
        uint64_t n = tab_sketch_count(l->sketch[c], mark_of(m, i), &exact);
        marks += n;
        if (n == 0 && !exact)
            return m->missing_pct;
    }
    return (double)(none + marks) / (double)l->rows;
}

/* The sample's picture, for all rows: of dates, and of numbers that are written as texts. */
static void scaled(const large *l, size_t c, const Tabella__ColumnProfile *m)
{
    Tabella__Spread *s = m->spread;
    bool exact;
    double by = l->seen->rows > 0 ? (double)l->rows / (double)l->seen->rows : 1;
    for (size_t i = 0; i < s->n_bins; i++)
        s->bins[i] = (uint64_t)llround((double)s->bins[i] * by);
    for (size_t i = 0; i < s->n_rows; i++)
        s->rows[i] = (uint64_t)llround((double)s->rows[i] * by);
    s->distinct = tab_sketch_distinct(l->sketch[c], &exact);
    s->present = tab_sketch_present(l->sketch[c]);
    for (size_t i = 0; i < m->n_missing_marks; i++) { /* which are no values */
        uint64_t n = tab_sketch_count(l->sketch[c], mark_of(m, i), &exact);
        s->distinct -= n > 0 && s->distinct > 0;
        s->present -= n;
    }
}

/* *ret: whether the picture is of the sample. */
static bool spread(const large *l, size_t c, Tabella__ColumnProfile *m, bool *ret)
{
    const tab_column_profile *q = &l->profile->col[c];
    const tab_sketch *s = l->sketch[c];
    bool numbers = q->number != NULL && q->type == TAB_NUMERIC;
    *ret = false;
    if (m->spread == NULL)
        return true;
    if (q->type == TAB_DATETIME || m->n_missing_marks > 0 ||
        (numbers && tab_sketch_numbers(s) != tab_sketch_present(s))) {
        scaled(l, c, m);
        *ret = true;
        return true;
    }
    m->spread = tab_sketch_spread(l->e.arena, s, numbers);
    return m->spread != NULL;
}

static Tabella__PassesColumn *column(const large *l, size_t c)
{
    tab_arena *a = l->e.arena;
    Tabella__PassesColumn *m = tab_message(a, Tabella__PassesColumn, TABELLA__PASSES_COLUMN__INIT);
    bool exact;
    if (m == NULL)
        return NULL;
    m->present = tab_sketch_present(l->sketch[c]);
    m->distinct = tab_sketch_distinct(l->sketch[c], &exact);
    m->distinct_exact = exact;
    if (tab_sketch_numbers(l->sketch[c]) == 0 || l->profile->col[c].pii)
        return m;
    m->quantiles = tab_arena_new_of(a, double, LEVEL_COUNT);
    for (; m->quantiles != NULL && m->n_quantiles < LEVEL_COUNT; m->n_quantiles++)
        m->quantiles[m->n_quantiles] = tab_sketch_quantile(l->sketch[c], LEVELS[m->n_quantiles]);
    return m->quantiles != NULL ? m : NULL;
}

/* ---- what it cannot say --------------------------------------------------------------------------- */

static void say(Tabella__Passes *p, const char *sentence)
{
    p->of_sample[p->n_of_sample++] = tab_text(sentence);
}

static bool notes(const large *l, size_t drawn, Tabella__Passes *p)
{
    tab_arena *a = l->e.arena;
    enum { SENTENCES = 8 };
    p->of_sample = tab_arena_new_of(a, char *, SENTENCES);
    if (p->of_sample == NULL)
        return false;
    say(p,
        tab_arena_printf(a,
                         "%zu of %llu rows, drawn evenly, were learned from: roles, types, sector, reasons, "
                         "results, suspects and filled cells of the bundle are of them alone",
                         l->seen->rows, (unsigned long long)l->rows));
    say(p, "duplicates were looked for within the sample; rows that are equal to a row outside of it are not "
           "found, so that few or none found says nothing of the whole table");
    if (l->b->prediction != NULL && l->unseen->rows > 0)
        say(p,
            tab_arena_printf(a,
                             "error, calibration and slices of the prediction are of %zu other rows, which "
                             "nothing was learned from",
                             l->unseen->rows));
    if (drawn > 0)
        say(p, tab_arena_printf(a,
                                "the pictures of %zu columns (dates, numbers written as texts, marks of "
                                "missing cells) are of the sample, enlarged",
                                drawn));
    return !tab_arena_full(a);
}

/* ---- numbers of rows ------------------------------------------------------------------------------ */

static void renumber(const large *l, uint32_t *row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (row[i] < l->seen->rows)
            row[i] = (uint32_t)l->seen_row[row[i]];
}

static void renumber_all(const large *l, Tabella__Bundle *b)
{
    Tabella__Results *r[] = { b->prediction != NULL ? b->prediction->results : NULL,
                              b->prediction != NULL ? b->prediction->missing_target_results : NULL };
    for (size_t i = 0; i < 2; i++)
        if (r[i] != NULL)
            renumber(l, r[i]->row, r[i]->n_row);
    if (b->imputation != NULL) {
        renumber(l, b->imputation->row, b->imputation->n_row);
        renumber(l, b->imputation->confidence_row, b->imputation->n_confidence_row);
    }
    if (b->suspects != NULL)
        renumber(l, b->suspects->row, b->suspects->n_row);
    for (size_t i = 0; i < b->n_duplicates; i++)
        renumber(l, b->duplicates[i]->row, b->duplicates[i]->n_row);
    if (b->cross_table_map != NULL && b->cross_table_map->duplicates != NULL) {
        renumber(l, b->cross_table_map->duplicates->row, b->cross_table_map->duplicates->n_row);
        renumber(l, b->cross_table_map->duplicates->other_row, b->cross_table_map->duplicates->n_other_row);
    }
}

tab_status large_tell(large *l, tab_error *err)
{
    tab_arena *a = l->e.arena;
    Tabella__Bundle *b = l->b;
    Tabella__TableUnderstanding *t = b->tables[0];
    Tabella__Passes *p = tab_message(a, Tabella__Passes, TABELLA__PASSES__INIT);
    size_t drawn = 0;
    if (p == NULL || (p->columns = tab_arena_new_of(a, Tabella__PassesColumn *, l->size.cols + 1)) == NULL)
        return tab_no_memory(err);
    for (size_t c = 0; c < l->size.cols && c < t->n_column_profile; c++) {
        bool of_sample;
        t->column_profile[c]->missing_pct = missing(l, c, t->column_profile[c]);
        if (!spread(l, c, t->column_profile[c], &of_sample) || (p->columns[c] = column(l, c)) == NULL)
            return tab_no_memory(err);
        drawn += of_sample;
        p->n_columns++;
    }
    p->bytes = l->size.bytes;
    p->rows = l->rows;
    p->sample_rows = l->seen->rows;
    p->unseen_rows = l->unseen->rows;
    p->memory = l->run->memory;
    p->passes = l->run->out != NULL && (b->prediction != NULL || l->fills > 0) ? 2 : 1;
    p->wide_records = l->wide;
    p->quantile_levels = (double *)(uintptr_t)LEVELS;
    p->n_quantile_levels = LEVEL_COUNT;
    if (!notes(l, drawn, p))
        return tab_no_memory(err);
    t->rows = b->records_total = l->rows;
    tab_str reading = tab_pieces_reading(l->pieces);
    t->reading = (ProtobufCBinaryData){ reading.n, (uint8_t *)(uintptr_t)reading.p };
    renumber_all(l, b);
    b->passes = p;
    return TAB_OK;
}
