#include "services/inference/engine/sketch/sample.h"

#include <stdlib.h>

#include "common/base/order.h"

typedef struct {
    uint64_t hash, row;
} candidate;

typedef struct {
    tab_arena *a;
    tab_builder *b; /* until the end */
    tab_column all; /* from then on */
} sampled;

struct tab_sample {
    size_t most, columns;
    bool texts;
    uint64_t seed, rows, bound; /* bound: greatest hash of a candidate */
    candidate *at;              /* (n) in the order of rows, room for `room` */
    size_t n, room;
    uint32_t *kept; /* (n_kept) places of candidates before they were thinned, or NULL: all stay */
    size_t n_kept;
    size_t from[TAB_SAMPLE_PIECES + 1]; /* where each piece's candidates begin in `at` */
    sampled *col;                       /* (columns) */
};

/* SplitMix64 (Steele et al. 2014). */
static uint64_t hash_of(uint64_t seed, uint64_t row)
{
    uint64_t x = seed + (row + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static bool column_new(sampled *c)
{
    c->a = tab_arena_new(SIZE_MAX / 2);
    c->b = c->a != NULL ? tab_builder_new(c->a, TAB_S("")) : NULL;
    return c->b != NULL;
}

static void column_free(sampled *c)
{
    if (c->b != NULL)
        tab_builder_drop(c->b);
    tab_arena_free(c->a);
    *c = (sampled){ 0 };
}

tab_sample *tab_sample_new(size_t most, size_t columns, bool texts, uint64_t seed)
{
    tab_sample *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (tab_sample){ .most = most, .columns = columns, .texts = texts, .seed = seed, .bound = UINT64_MAX };
    s->col = calloc(columns + 1, sizeof *s->col);
    bool good = s->col != NULL;
    for (size_t c = 0; good && c < columns; c++)
        good = column_new(&s->col[c]);
    if (good)
        return s;
    tab_sample_free(s);
    return NULL;
}

void tab_sample_free(tab_sample *s)
{
    if (s == NULL)
        return;
    for (size_t c = 0; s->col != NULL && c < s->columns; c++)
        column_free(&s->col[c]);
    free(s->col);
    free(s->at);
    free(s->kept);
    free(s);
}

/* The bound becomes the greatest hash of the sample's; kept says who stays. */
static bool thin(tab_sample *s)
{
    uint64_t *hash = malloc((s->n + 1) * sizeof *hash);
    s->kept = malloc((s->most + 1) * sizeof *s->kept);
    bool good = hash != NULL && s->kept != NULL;
    for (size_t i = 0; good && i < s->n; i++)
        hash[i] = s->at[i].hash;
    if (good) {
        qsort(hash, s->n, sizeof *hash, tab_ascending_u64);
        s->bound = hash[s->most - 1];
    }
    free(hash);
    s->n_kept = 0;
    for (size_t i = 0; good && i < s->n; i++)
        if (s->at[i].hash <= s->bound && s->n_kept < s->most) {
            s->at[s->n_kept] = s->at[i];
            s->kept[s->n_kept++] = (uint32_t)i;
        }
    s->n = good ? s->n_kept : s->n;
    return good;
}

static bool push(tab_sample *s, candidate x)
{
    if (s->n == s->room) {
        size_t room = 2 * s->room + 1024;
        candidate *at = realloc(s->at, room * sizeof *at);
        if (at == NULL)
            return false;
        s->at = at;
        s->room = room;
    }
    s->at[s->n++] = x;
    return true;
}

bool tab_sample_choose(tab_sample *s, const tab_table *const *piece, size_t n)
{
    free(s->kept);
    s->kept = NULL;
    if (s->n > 2 * s->most && !thin(s))
        return false;
    for (size_t i = 0; i < n; i++) {
        s->from[i] = s->n;
        for (size_t k = 0; k < piece[i]->rows; k++) {
            candidate x = { hash_of(s->seed, s->rows), s->rows };
            if (x.hash <= s->bound && !push(s, x))
                return false;
            s->rows++;
        }
        s->from[i + 1] = s->n;
    }
    if (n == 0)
        s->from[0] = s->n;
    return s->n < UINT32_MAX;
}

/* Cells of c at place[0..n), or (NULL) the first n. */
static bool copy_cells(tab_builder *b, const tab_column *c, const uint32_t *place, size_t n, bool texts)
{
    uint32_t *known = calloc(c->levels + 1, sizeof *known);
    char buf[32];
    for (size_t i = 0; known != NULL && i < n; i++) {
        size_t row = place != NULL ? place[i] : i;
        tab_cell x = texts ? tab_cell_at(c, row) : (tab_cell){ .kind = TAB_CELL_NULL };
        if (x.kind == TAB_CELL_NUMBER)
            tab_builder_text(b, x.text.n > 0 ? x.text : (tab_str){ buf, tab_number_text(x.num, buf) });
        else
            tab_builder_copy(b, c, row, known);
    }
    free(known);
    return known != NULL;
}

static bool thin_column(const tab_sample *s, sampled *c)
{
    tab_column all;
    sampled next = { 0 };
    bool good = tab_builder_finish(c->b, &all);
    c->b = NULL;
    good = good && column_new(&next) && copy_cells(next.b, &all, s->kept, s->n_kept, false);
    column_free(c);
    *c = next;
    return good;
}

bool tab_sample_take(tab_sample *s, size_t at, const tab_table *const *piece, size_t n)
{
    if (s->kept != NULL && !thin_column(s, &s->col[at]))
        return false;
    uint64_t before = s->rows;
    for (size_t i = 0; i < n; i++)
        before -= piece[i]->rows;
    for (size_t i = 0; i < n; i++) {
        const tab_column *c = &piece[i]->col[at];
        uint32_t *known = calloc(c->levels + 1, sizeof *known);
        if (known == NULL)
            return false;
        for (size_t k = s->from[i]; k < s->from[i + 1]; k++)
            tab_builder_copy(s->col[at].b, c, (size_t)(s->at[k].row - before), known);
        free(known);
        before += piece[i]->rows;
    }
    return true;
}

bool tab_sample_end(tab_sample *s)
{
    bool good = true;
    for (size_t c = 0; good && c < s->columns; c++) {
        good = tab_builder_finish(s->col[c].b, &s->col[c].all);
        s->col[c].b = NULL;
    }
    return good;
}

uint64_t tab_sample_rows(const tab_sample *s)
{
    return s->rows;
}

/* Places of the candidates whose hashes have such ranks. */
static uint32_t *ranked(const tab_sample *s, size_t from, size_t to, size_t *ret_n)
{
    uint64_t *hash = malloc((s->n + 1) * sizeof *hash);
    uint32_t *place = malloc((s->n + 1) * sizeof *place);
    to = to < s->n ? to : s->n;
    *ret_n = 0;
    for (size_t i = 0; hash != NULL && i < s->n; i++)
        hash[i] = s->at[i].hash;
    if (hash != NULL)
        qsort(hash, s->n, sizeof *hash, tab_ascending_u64);
    for (size_t i = 0; hash != NULL && place != NULL && from < to && i < s->n; i++)
        if (s->at[i].hash >= hash[from] && s->at[i].hash <= hash[to - 1])
            place[(*ret_n)++] = (uint32_t)i;
    free(hash);
    return place;
}

/* A column of a file in which some cells are texts holds texts alone. */
static bool mixed(const tab_column *c)
{
    bool text = false, number = false;
    for (size_t k = 0; c->layout == TAB_CODED && k < c->levels; k++) {
        text |= c->kind[k] == TAB_CELL_TEXT;
        number |= c->kind[k] == TAB_CELL_NUMBER;
    }
    return text && number;
}

bool tab_sample_table(const tab_sample *s, tab_arena *a, const tab_table *top, size_t from, size_t to,
                      const tab_table **ret, uint64_t **ret_row)
{
    size_t n = 0;
    uint32_t *place = ranked(s, from, to, &n);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, s->columns + 1);
    uint64_t *row = tab_arena_new_of(a, uint64_t, n + 1);
    bool good = place != NULL && t != NULL && col != NULL && row != NULL;
    for (size_t i = 0; good && i < n; i++)
        row[i] = s->at[place[i]].row;
    for (size_t c = 0; good && c < s->columns; c++) {
        const tab_column *all = &s->col[c].all;
        tab_builder *b = tab_builder_new(a, top->col[c].name);
        good = b != NULL && copy_cells(b, all, place, n, s->texts && mixed(all)) &&
               tab_builder_finish(b, &col[c]);
    }
    free(place);
    if (!good)
        return false;
    *t = (tab_table){ .id = top->id, .rows = n, .cols = s->columns, .col = col };
    *ret = t;
    *ret_row = row;
    return true;
}
