/* See grain.h. In order: a table whose rows others refer to holds things; one whose references name its
 * rows, with next to nothing beside them, is a bridge; one without a key of its own that tells things at
 * moments holds observations, else it holds lines of what it refers to. A count of the rows is no key of
 * its own. */
#include "services/inference/engine/keys/grain.h"

#include <math.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/keys/tuple_set.h"
#include "services/inference/engine/profile/lines.h"

const char *const tab_grain_names[] = { "entity", "observation", "line", "bridge" };

/* UNIQUE: share of rows that a key tells apart. AGAIN: rows that each thing needs on the average to be
 * observed. NAMED: share of rows from which distinct texts are names of the rows themselves. SURE and
 * DOUBTFUL: confidence where no reference tells. LEAST_SHARED: things that two tables have in common.
 * TOGETHER: share of rows that are of one thing at one moment in both, from which these may be the same
 * rows. */
enum { LEAST_SHARED = 3 };
static const double TOGETHER = 0.02;
static const double HALF = 0.5, UNIQUE = 0.98, MOMENTS = 0.9, AGAIN = 3, NAMED = 0.5, SURE = 0.9,
                    DOUBTFUL = 0.5;

/* What is known of one table while its kind is sought. */
typedef struct {
    const tab_views *v;
    const tab_keys *k;
    tab_arena *a;
    uint32_t t;
    uint32_t *refers, references; /* columns that refer to other tables, each once */
    double least;                 /* of their probabilities */
    bool *is_reference;           /* (cols) */
} subject;

static const tab_view *view_of(const subject *s, size_t c)
{
    return &s->v->table[s->t].col[c];
}

/* Whether a column holds another value in nearly each row. */
static bool unique(const subject *s, size_t c)
{
    const tab_view *w = view_of(s, c);
    size_t rows = s->v->table[s->t].rows;
    return rows > 1 && (double)w->values >= UNIQUE * (double)rows;
}

static bool moment(const subject *s, size_t c)
{
    return view_of(s, c)->kind == TAB_VIEW_DATE;
}

/* Whether numbers are whole: others measure and name nothing. */
static bool whole(const tab_view *w)
{
    for (uint32_t i = 0; i < w->values; i++)
        if (w->value[i].number != floor(w->value[i].number))
            return false;
    return true;
}

/* Whether a column may name something: no moment, and no fraction. */
static bool may_name(const subject *s, size_t c)
{
    const tab_view *w = view_of(s, c);
    return w->values > 1 && !moment(s, c) && (w->kind == TAB_VIEW_TEXT || whole(w));
}

/* The share of rows that a set of columns tells apart; 0 when out of memory. */
static double told_apart(const subject *s, const uint32_t *col, uint32_t n)
{
    const tab_table_view *t = &s->v->table[s->t];
    tab_tuple_set set;
    uint64_t tuple;
    size_t all = 0;
    if (n == 0 || !tab_tuple_set_new(&set, t->rows + 1))
        return 0;
    for (size_t r = 0; r < t->rows; r++)
        if (tab_tuple_of(t, col, n, r, n, 0, &tuple)) {
            all++;
            (void)tab_tuple_set_add(&set, tuple, (uint32_t)r);
        }
    double share = all > 0 ? (double)set.n / (double)all : 0;
    tab_tuple_set_free(&set);
    return share;
}

/* The column of moments that tells most rows of a thing apart, which columns `of` (n) name: of a patient's
 * visits the day, not his birth. TAB_NULL: none. */
static uint32_t when(const subject *s, const uint32_t *of, uint32_t n)
{
    uint32_t best = TAB_NULL, *by = tab_arena_new_of(s->a, uint32_t, n + 1);
    double most = 0;
    if (by != NULL && n > 0)
        memcpy(by, of, n * sizeof *by);
    for (uint32_t c = 0; by != NULL && c < s->v->table[s->t].cols; c++) {
        if (!moment(s, c) || view_of(s, c)->values < 2)
            continue;
        by[n] = c;
        double apart = told_apart(s, by, n + 1);
        if (apart > most) {
            best = c;
            most = apart;
        }
    }
    return best;
}

static bool say(const subject *s, tab_grain *g, int kind, const uint32_t *of, uint32_t n, double confidence,
                const char *reason)
{
    g->kind = kind;
    g->n = n;
    g->of = tab_arena_new_of(s->a, uint32_t, n + 1);
    g->confidence = confidence;
    g->reason = reason;
    g->when = kind == TAB_GRAIN_OBSERVATION ? when(s, of, n) : TAB_NULL;
    if (g->of != NULL && n > 0)
        memcpy(g->of, of, n * sizeof *of);
    return g->of != NULL;
}

/* Whether hardly a row shares with another what it refers to: such rows are things beside those, as in a list
 * with duplicates, and not their lines. */
static bool once(const subject *s, const tab_reference *r)
{
    return r->one_to_one || s->v->table[s->t].rows * 4 <= (size_t)r->child_values * 5;
}

/* Fills the columns by which the table refers to others. False: out of memory. */
static bool references_of(subject *s)
{
    size_t cols = s->v->table[s->t].cols;
    s->refers = tab_arena_new_of(s->a, uint32_t, cols + 1);
    s->is_reference = tab_arena_new_of(s->a, bool, cols + 1);
    s->least = 1;
    if (s->refers == NULL || s->is_reference == NULL)
        return false;
    for (size_t i = 0; i < s->k->n; i++) {
        const tab_reference *r = &s->k->ref[i];
        if (r->child_table != s->t || r->parent_table == s->t || r->p < HALF || once(s, r))
            continue;
        s->least = r->p < s->least ? r->p : s->least;
        s->is_reference[r->child] = true;
        for (uint32_t q = 0; q < r->also; q++)
            s->is_reference[r->child_also[q]] = true;
    }
    for (uint32_t c = 0; c < cols; c++)
        if (s->is_reference[c])
            s->refers[s->references++] = c;
    return true;
}

/* The likeliest reference of one column to the table, or NULL. */
static const tab_reference *referred(const subject *s)
{
    const tab_reference *best = NULL;
    for (size_t i = 0; i < s->k->n; i++) {
        const tab_reference *r = &s->k->ref[i];
        if (r->parent_table == s->t && r->p >= HALF && r->also == 0 &&
            !(s->is_reference[r->parent] && r->child_table != s->t) && (best == NULL || r->p > best->p))
            best = r;
    }
    return best;
}

/* The first column of names, codes or numbers that is another in each row and no count of them; TAB_NULL:
 * none. */
static uint32_t own_key(const subject *s)
{
    for (uint32_t c = 0; c < s->v->table[s->t].cols; c++)
        if (!s->is_reference[c] && !s->k->counted[s->t][c] && may_name(s, c) && unique(s, c))
            return c;
    return TAB_NULL;
}

/* The column without reference whose values stand in several rows each, at other moments: what is
 * observed. Of several the one of most values. TAB_NULL: none; *apart: the share of rows that it tells
 * apart with them. */
static uint32_t observed(const subject *s, uint32_t at, double *apart)
{
    uint32_t best = TAB_NULL;
    for (uint32_t c = 0; c < s->v->table[s->t].cols; c++) {
        const tab_view *w = view_of(s, c);
        if (c == at || w->kind != TAB_VIEW_TEXT || w->values < 3 || AGAIN * w->values > (double)w->present ||
            (double)w->present < MOMENTS * (double)s->v->table[s->t].rows)
            continue;
        double share = told_apart(s, (uint32_t[]){ c, at }, 2);
        if (share >= MOMENTS && (best == TAB_NULL || w->values > view_of(s, best)->values)) {
            best = c;
            *apart = share;
        }
    }
    return best;
}

/* Whether texts name the rows themselves, if some stand twice: a list with duplicates. */
static bool named(const subject *s)
{
    for (uint32_t c = 0; c < s->v->table[s->t].cols; c++) {
        const tab_view *w = view_of(s, c);
        if (w->kind == TAB_VIEW_TEXT && !s->is_reference[c] &&
            (double)w->values >= NAMED * (double)w->present &&
            (double)w->present >= HALF * (double)s->v->table[s->t].rows)
            return true;
    }
    return false;
}

/* Columns that are neither a reference nor a count of the rows. */
static size_t beside(const subject *s)
{
    size_t n = 0;
    for (uint32_t c = 0; c < s->v->table[s->t].cols; c++)
        n += !s->is_reference[c] && view_of(s, c)->values > 1 && !(s->k->counted[s->t][c] && unique(s, c));
    return n;
}

/* The reference to the table of most rows: an item belongs to its order rather than to its product. */
static const tab_reference *document(const subject *s)
{
    const tab_reference *best = NULL;
    for (size_t i = 0; i < s->k->n; i++) {
        const tab_reference *r = &s->k->ref[i];
        if (r->child_table == s->t && r->parent_table != s->t && r->p >= HALF && !once(s, r) &&
            (best == NULL || s->v->table[r->parent_table].rows > s->v->table[best->parent_table].rows))
            best = r;
    }
    return best;
}

/* A table that refers to others and that none refers to. False: out of memory. */
static bool of_others(const subject *s, tab_grain *g)
{
    uint32_t at = when(s, NULL, 0);
    double apart = told_apart(s, s->refers, s->references);
    if (s->references > 1 && beside(s) <= 1 && apart >= UNIQUE)
        return say(s, g, TAB_GRAIN_BRIDGE, s->refers, s->references, s->least * apart,
                   "its foreign keys together identify each row, and it has hardly any other columns");
    if (at != TAB_NULL)
        return say(s, g, TAB_GRAIN_OBSERVATION, s->refers, s->references, s->least * SURE,
                   "its rows describe what it refers to at points in time; no other table refers to them");
    const tab_reference *r = document(s);
    uint32_t of[TAB_KEY_ALSO + 1] = { r->child };
    memcpy(of + 1, r->child_also, sizeof r->child_also);
    return say(s, g, TAB_GRAIN_LINE, of, r->also + 1, r->p * SURE,
               "each row belongs to a row it refers to and has no key of its own");
}

/* A table without references. False: out of memory. */
static bool by_itself(const subject *s, tab_grain *g)
{
    uint32_t at = when(s, NULL, 0), thing = TAB_NULL;
    double apart = 0;
    if (at != TAB_NULL && !named(s))
        thing = observed(s, at, &apart);
    if (thing != TAB_NULL)
        return say(
            s, g, TAB_GRAIN_OBSERVATION, &thing, 1, apart * SURE,
            "each value occurs in several rows at different times; no column identifies a row by itself");
    return say(s, g, TAB_GRAIN_ENTITY, NULL, 0, DOUBTFUL,
               "no column identifies its rows, and nothing suggests otherwise");
}

static bool find(subject *s, tab_grain *g)
{
    if (!references_of(s))
        return false;
    const tab_reference *r = referred(s);
    if (r != NULL)
        return say(s, g, TAB_GRAIN_ENTITY, &r->parent, 1, r->p, "other rows refer to its rows");
    uint32_t key = own_key(s);
    if (key != TAB_NULL)
        return say(s, g, TAB_GRAIN_ENTITY, &key, 1, SURE, "a single column identifies each row");
    uint32_t document = tab_lines_document(s->v->table[s->t].profile);
    if (document != TAB_NULL && s->references == 0)
        return say(s, g, TAB_GRAIN_LINE, &document, 1, SURE,
                   "rows with the same value are adjacent, and other columns have a value only on the first "
                   "of them");
    return s->references > 0 ? of_others(s, g) : by_itself(s, g);
}

tab_status tab_grains_find(const tab_views *v, const tab_keys *k, tab_arena *a, tab_grain **ret,
                           tab_error *err)
{
    *ret = tab_arena_new_of(a, tab_grain, v->n + 1);
    if (*ret == NULL)
        return tab_no_memory(err);
    for (uint32_t t = 0; t < v->n; t++) {
        subject s = { .v = v, .k = k, .a = a, .t = t };
        if (!find(&s, &(*ret)[t]))
            return tab_no_memory(err);
    }
    return TAB_OK;
}

tab_grain *tab_grains_copy(tab_arena *a, const tab_grain *g, size_t n)
{
    tab_grain *to = tab_arena_new_of(a, tab_grain, n + 1);
    for (size_t t = 0; to != NULL && t < n; t++) {
        to[t] = g[t];
        to[t].of = tab_arena_new_of(a, uint32_t, g[t].n + 1);
        if (to[t].of == NULL)
            return NULL;
        if (g[t].n > 0)
            memcpy(to[t].of, g[t].of, g[t].n * sizeof *to[t].of);
    }
    return to;
}

size_t tab_shared_values(const tab_view *a, const tab_view *b, size_t terms)
{
    bool *has = calloc(terms + 1, sizeof *has);
    size_t n = 0;
    for (uint32_t i = 0; has != NULL && i < a->values; i++)
        has[a->value[i].key] = true;
    for (uint32_t i = 0; has != NULL && i < b->values; i++)
        n += has[b->value[i].key];
    free(has);
    return n;
}

bool tab_grains_same_things(const tab_views *v, const tab_grain *g, size_t s, size_t t, uint32_t *ret_a,
                            uint32_t *ret_b, size_t *ret)
{
    const tab_grain *a = &g[s], *b = &g[t];
    *ret = 0;
    if (a->kind != TAB_GRAIN_OBSERVATION || b->kind != TAB_GRAIN_OBSERVATION)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = 0; j < b->n; j++) {
            const tab_view *p = &v->table[s].col[a->of[i]], *q = &v->table[t].col[b->of[j]];
            size_t least = p->values < q->values ? p->values : q->values;
            size_t n =
                p->kind == TAB_VIEW_TEXT && q->kind == TAB_VIEW_TEXT ? tab_shared_values(p, q, v->terms) : 0;
            if (n < LEAST_SHARED || (double)n < HALF * (double)least || n <= *ret)
                continue;
            *ret = n;
            *ret_a = a->of[i];
            *ret_b = b->of[j];
        }
    return *ret > 0;
}

bool tab_grains_other_moments(const tab_views *v, const tab_grain *g, size_t s, size_t t)
{
    uint32_t a[2], b[2];
    size_t n, both = 0, all = 0;
    const tab_table_view *x = &v->table[s], *y = &v->table[t];
    tab_tuple_set set;
    uint64_t tuple;
    if (!tab_grains_same_things(v, g, s, t, &a[0], &b[0], &n) || g[s].when == TAB_NULL ||
        g[t].when == TAB_NULL || !tab_tuple_set_new(&set, x->rows + 1))
        return false;
    a[1] = g[s].when;
    b[1] = g[t].when;
    for (size_t r = 0; r < x->rows; r++)
        if (tab_tuple_of(x, a, 2, r, 2, 0, &tuple))
            (void)tab_tuple_set_add(&set, tuple, (uint32_t)r);
    for (size_t r = 0; r < y->rows; r++)
        if (tab_tuple_of(y, b, 2, r, 2, 0, &tuple)) {
            all++;
            both += tab_tuple_set_row(&set, tuple) != TAB_NULL;
        }
    tab_tuple_set_free(&set);
    return (double)both < TOGETHER * (double)(all < x->rows ? all : x->rows);
}
