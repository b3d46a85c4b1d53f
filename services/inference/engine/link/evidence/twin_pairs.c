/* See twin_pairs.h. The pair model: what two rows of one table, or of two, show of being one entity.
 *
 *   rows ─> candidates (pairs/rows.h: rows that share rare words, values, letters)
 *        ─> agreement    a level for each attribute: equal, alike, apart, unknown
 *        ─> evidence     the sum of log(m / u) over attributes (Fellegi & Sunter, JASA 1969)
 *        ─> features     how this pair stands beside all others of its rows and of its table
 *        ─> p            boosted trees (twin_model.h; across two tables across_model.h), calibrated on tables
 *                        left out
 *
 * Fellegi and Sunter's weights need m, the share of true pairs that agree, which nobody gives; u, that of
 * random pairs, is counted. Sums of weights also take attributes for independent, which they are not: who
 * shares a street shares a city. So evidence here is one feature among others and not the judge. The trees
 * read, beside it, what a person would: which columns differ and whether these columns usually differ among
 * rows that are otherwise equal; whether a number is a size, a code or an age; how far the pair stands above
 * the next best pair of its rows; and what a row would reach with itself. All features are shares, ranks or
 * ratios, so that a model learned on persons and songs is asked about parcels.
 *
 * What holds:
 *
 *   - A feature is the same whichever of the two rows comes first, and whatever the order of columns and
 *     rows.
 *   - Nothing names a column: `name` is known by its values, so lists without headers are read alike.
 *   - u and frequencies are of the table itself: an equal "Smith" is worth less where there are many.
 *   - Candidates of a row are bounded, so that pairs grow with the rows and not with their square; a value
 *     that too many rows share makes no candidates.
 *   - A proven key that differs is heard afterwards, as odds, and not by the trees (duplicates.h): they were
 *     learned on lists, most of which have none. */
#include "services/inference/engine/link/evidence/twin_pairs.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/profile/roles/roles.h"

enum {
    CHUNKS = 64,
    COLUMNS = 32,        /* of most values that are compared */
    RANDOM_PAIRS = 1500, /* for u */
    SEEDS = 3000,        /* mutually best rows, for m */
    WANTED = 240000      /* pairs of a large table: fewer neighbours a row */
};

/* ---- columns --------------------------------------------------------------------------------- */

/* Whether whole numbers rise from row to row, as what is counted while rows are written down does. */
static bool rising(const tab_view *w, size_t rows)
{
    enum { FEW = 20 };
    for (size_t r = 1; r < rows; r++)
        if (!(w->value[w->code[r]].number > w->value[w->code[r - 1]].number))
            return false;
    return rows >= FEW;
}

/* A number given to each row as it was written down: every row has one, none twice, and it is a code or
 * whole numbers that rise or leave few out. Twins differ in it. */
static bool running(const tab_view *w, size_t rows)
{
    const tab_column_profile *p = w->profile;
    if (w->present != rows || w->values != rows || rows < 2)
        return false;
    if (p->role == TAB_ROLE_ID || p->role == TAB_ROLE_UUID || p->role == TAB_ROLE_HASH)
        return true;
    return w->kind == TAB_VIEW_NUMBER && p->decimals == 0 && w->sorted_n > 0 &&
           (w->sorted[w->sorted_n - 1] - w->sorted[0] < 2 * (double)rows || rising(w, rows));
}

/* Orders of one customer share the customer, and his name. */
static bool tells_nothing(const tab_twin_pairs *s, size_t c)
{
    return (s->voice != NULL && s->voice[c] != TAB_VOICE_WHICH) || running(&s->t[0]->col[c], s->t[0]->rows);
}

static float entropy_of(const tab_view *w)
{
    double h = 0;
    for (uint32_t i = 0; i < w->values; i++) {
        double q = (double)w->value[i].rows / (double)w->present;
        h -= q * log(q);
    }
    return (float)h;
}

static bool room_for_weights(tab_twin_pairs *s, tab_arena *a)
{
    size_t n = s->l.attrs;
    s->l.weight = tab_arena_new_of(a, double, n *TAB_LEVELS);
    s->l.log_m = tab_arena_new_of(a, double, n *TAB_LEVELS);
    s->l.log_kept = tab_arena_new_of(a, double, n * 3);
    s->u = tab_arena_new_of(a, double, n *TAB_LEVELS);
    s->entropy = tab_arena_new_of(a, float, n);
    return !tab_arena_full(a);
}

/* The columns that tell something, those of most values first. */
static bool take_columns(tab_twin_pairs *s, tab_arena *a)
{
    const tab_table_view *t = s->t[0];
    uint32_t *order = tab_arena_new_of(a, uint32_t, t->cols);
    size_t n = 0;
    for (uint32_t c = 0; order != NULL && c < t->cols; c++) {
        const tab_view *w = &t->col[c];
        if (w->present == 0 || w->values < 2 || tells_nothing(s, c))
            continue;
        size_t k = n++;
        for (; k > 0 && t->col[order[k - 1]].values < w->values; k--)
            order[k] = order[k - 1];
        order[k] = c;
    }
    n = n < COLUMNS ? n : COLUMNS;
    s->l.attrs = s->l.c.attrs = n;
    s->l.attr = tab_arena_new_of(a, tab_attribute, n);
    if (!room_for_weights(s, a) || s->l.attr == NULL)
        return false;
    for (size_t k = 0; k < n && !tab_arena_full(a); k++) {
        tab_view *w = &t->col[order[k]];
        s->l.attr[k] = (tab_attribute){ .a = order[k],
                                        .b = order[k],
                                        .confidence = 1,
                                        .numeric = w->sorted_n > 0,
                                        .scale = 1,
                                        .sorted = w->sorted,
                                        .sorted_n = w->sorted_n };
        s->entropy[k] = entropy_of(w);
    }
    return !tab_arena_full(a);
}

static int sides_of(const tab_twin_pairs *s)
{
    return s->across ? 2 : 1;
}

/* Whether column c of a table is one that two tables share. */
static bool shared(const tab_twin_pairs *s, int side, size_t c)
{
    for (size_t k = 0; k < s->l.attrs; k++)
        if ((side ? s->l.attr[k].b : s->l.attr[k].a) == c)
            return true;
    return false;
}

/* Whether a column's words say nothing of a pair. */
static bool silent(const tab_twin_pairs *s, int side, size_t c)
{
    return s->across ? !shared(s, side, c) && running(&s->t[side]->col[c], s->t[side]->rows)
                     : tells_nothing(s, c);
}

static bool read_terms(tab_twin_pairs *s, tab_arena *a)
{
    s->term = tab_arena_new_of(a, uint8_t, s->v->terms);
    for (size_t i = 0; s->term != NULL && i < s->v->terms; i++) {
        const char *p = s->v->text + s->v->term_at[i];
        size_t digits = 0, n = s->v->term_n[i];
        for (size_t k = 0; k < n; k++)
            digits += p[k] >= '0' && p[k] <= '9';
        s->term[i] = digits == 0                 ? TAB_TERM_WORD
                     : digits < n || digits >= 4 ? TAB_TERM_CODE
                                                 : TAB_TERM_NUMBER;
    }
    for (int side = 0; s->term != NULL && side < sides_of(s); side++)
        for (size_t c = 0; c < s->t[side]->cols; c++) {
            const tab_view *w = &s->t[side]->col[c];
            if (!silent(s, side, c))
                continue;
            for (uint32_t i = 0; i < w->values; i++)
                for (uint32_t k = 0; k < w->value[i].tok_n; k++)
                    s->term[s->v->tok[w->value[i].tok + k]] = TAB_TERM_RUNNING;
        }
    return s->term != NULL;
}

/* How often rows that share a value of one column share that of another: columns of one row depend on one
 * another (a household has one street and one telephone), and what follows from the first tells nothing. */
static const tab_view *column_of(const tab_twin_pairs *s, size_t attr, int side)
{
    const tab_attribute *t = &s->l.attr[attr];
    return &s->t[side]->col[side ? t->b : t->a];
}

/* Counts of one table; joint (attrs) of column attr. last: scratch. Returns the pairs seen. */
static size_t count_joint(const tab_twin_pairs *s, int side, size_t attr, uint32_t *last, float *joint)
{
    enum { SEEN = 1500 }; /* pairs a column */
    const tab_view *w = column_of(s, attr, side);
    size_t repeats = w->present - w->values, seen = 0, at = 0;
    memset(last, 0xff, w->values * sizeof *last);
    for (uint32_t r = 0; r < s->t[side]->rows && repeats > 0; r++) {
        uint32_t v = w->code[r], before = v == TAB_NULL ? TAB_NULL : last[v];
        if (v == TAB_NULL)
            continue;
        last[v] = r;
        if (before == TAB_NULL || (repeats > SEEN && tab_hash_mix(at++, 29) % repeats >= SEEN))
            continue;
        seen++;
        for (size_t q = 0; q < s->l.attrs; q++) {
            const uint32_t *code = column_of(s, q, side)->code;
            joint[q] += code[r] != TAB_NULL && code[r] == code[before];
        }
    }
    return seen;
}

static bool learn_joint(tab_twin_pairs *s, tab_arena *a)
{
    size_t n = s->l.attrs, most = 0;
    s->joint = tab_arena_new_of(a, float, n *n);
    for (int side = 0; side < sides_of(s); side++)
        for (size_t k = 0; k < n; k++)
            most = column_of(s, k, side)->values > most ? column_of(s, k, side)->values : most;
    uint32_t *last = malloc((most + 1) * sizeof *last);
    if (last == NULL || s->joint == NULL) {
        free(last);
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        size_t seen = 0;
        float *joint = s->joint + k * n;
        for (int side = 0; side < sides_of(s); side++)
            seen += count_joint(s, side, k, last, joint);
        for (size_t q = 0; q < n; q++)
            joint[q] = (joint[q] + 0.5f) / ((float)seen + 1);
    }
    free(last);
    return true;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static size_t neighbours(size_t rows)
{
    size_t k = WANTED / (rows + 1);
    return k > 16 ? 16 : k < 4 ? 4 : k;
}

/* Each row's pairs, ascending by the other row. Pairs ascend by a, then b, so that filling b's side first
 * (others are lower) and a's then (others are higher) leaves every list in order. */
static bool list_pairs(tab_twin_pairs *s, tab_arena *a)
{
    size_t rows = s->rows;
    s->at = tab_arena_new_of(a, uint64_t, rows + 2);
    s->pair = tab_arena_new_of(a, uint32_t, 2 * s->n);
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        s->at[s->a[i] + 2]++;
        s->at[tab_twin_node(s, i) + 2]++;
    }
    for (size_t r = 1; r < rows + 2; r++)
        s->at[r] += s->at[r - 1]; /* at[r + 1] is where row r begins, and moves on to where it ends */
    for (size_t i = 0; i < s->n; i++)
        s->pair[s->at[tab_twin_node(s, i) + 1]++] = (uint32_t)i;
    for (size_t i = 0; i < s->n; i++)
        s->pair[s->at[s->a[i] + 1]++] = (uint32_t)i;
    return true;
}

/* Near rows as pairs a < b, each once, and those whose rows are one another's nearest. */
static tab_status find_pairs(const tab_engine *e, const tab_link_table *table, tab_twin_pairs *s,
                             tab_arena *a, tab_row_pairs *seeds, tab_error *err)
{
    size_t rows = s->rows, k = neighbours(rows), n = 0;
    tab_near *near = malloc((rows * k + 1) * sizeof *near);
    if (near == NULL)
        return tab_no_memory(err);
    tab_status st = tab_rows_nearest(e, &table->whole, &table->whole, &table->index, k, near, err);
    uint64_t *at = calloc(rows + 2, sizeof *at);
    uint32_t *higher = malloc((rows * k + 1) * sizeof *higher);
    s->a = tab_arena_new_of(a, uint32_t, rows * k);
    s->b = tab_arena_new_of(a, uint32_t, rows * k);
    uint32_t *sa = tab_arena_new_of(a, uint32_t, SEEDS), *sb = tab_arena_new_of(a, uint32_t, SEEDS);
    if (st == TAB_OK && (at == NULL || higher == NULL || tab_arena_full(a)))
        st = tab_no_memory(err);
    *seeds = (tab_row_pairs){ 0, sa, sb };
    for (size_t i = 0; st == TAB_OK && i < rows * k; i++)
        if (near[i].row != TAB_NULL)
            at[(near[i].row < i / k ? near[i].row : i / k) + 1]++;
    for (size_t r = 0; st == TAB_OK && r < rows; r++)
        at[r + 1] += at[r];
    for (size_t i = 0; st == TAB_OK && i < rows * k; i++) /* at[r] moves on to where row r + 1 begins */
        if (near[i].row != TAB_NULL) {
            uint32_t r = (uint32_t)(i / k), o = near[i].row;
            higher[at[r < o ? r : o]++] = r < o ? o : r;
        }
    for (uint32_t r = 0; st == TAB_OK && r < rows; r++) {
        uint32_t *h = higher + (r == 0 ? 0 : at[r - 1]);
        size_t m = (size_t)(higher + at[r] - h);
        for (size_t i = 1; i < m; i++) { /* few */
            uint32_t x = h[i];
            size_t j = i;
            for (; j > 0 && h[j - 1] > x; j--)
                h[j] = h[j - 1];
            h[j] = x;
        }
        for (size_t i = 0; i < m; i++)
            if (i == 0 || h[i] != h[i - 1]) {
                s->a[n] = r;
                s->b[n++] = h[i];
            }
        uint32_t o = near[r * k].row;
        if (o != TAB_NULL && o > r && near[o * k].row == r && near[r * k].score >= 0.3f && seeds->n < SEEDS) {
            sa[seeds->n] = r;
            sb[seeds->n++] = o;
        }
    }
    s->n = n;
    free(near);
    free(at);
    free(higher);
    return st;
}

/* ---- agreement ------------------------------------------------------------------------------- */

typedef struct {
    const tab_engine *e;
    tab_twin_pairs *s;
} working;

static void agree_chunk(void *ctx, size_t chunk)
{
    working *w = ctx;
    tab_twin_pairs *s = w->s;
    size_t attrs = s->l.attrs;
    for (size_t i = s->n * chunk / CHUNKS; i < s->n * (chunk + 1) / CHUNKS; i++) {
        if ((i & 1023) == 0 && tab_engine_cancelled(w->e))
            return;
        for (size_t k = 0; k < attrs; k++)
            s->agree[i * attrs + k] =
                tab_agree(s->v, s->t[0], s->t[1], &s->l.attr[k], s->a[i], s->b[i], NULL);
        s->cosine[i] = tab_sparse_dot(s->whole[0], s->a[i], s->whole[1], s->b[i]);
    }
}

static void evidence_chunk(void *ctx, size_t chunk)
{
    working *w = ctx;
    tab_twin_pairs *s = w->s;
    for (size_t i = s->n * chunk / CHUNKS; i < s->n * (chunk + 1) / CHUNKS; i++) {
        double sum = 0;
        for (size_t k = 0; k < s->l.attrs; k++)
            sum += tab_evidence(&s->l, k, &s->agree[i * s->l.attrs + k]);
        s->evidence[i] = (float)sum;
    }
}

static void self_chunk(void *ctx, size_t chunk)
{
    working *w = ctx;
    tab_twin_pairs *s = w->s;
    for (size_t r = s->rows * chunk / CHUNKS; r < s->rows * (chunk + 1) / CHUNKS; r++) {
        double sum = 0;
        int side = r >= s->t[0]->rows;
        uint32_t row = (uint32_t)(r - (side ? s->t[0]->rows : 0));
        for (size_t k = 0; k < s->l.attrs; k++) {
            tab_agreement g = tab_agree(s->v, s->t[side], s->t[side], &s->own[side][k], row, row, NULL);
            sum += tab_evidence(&s->l, k, &g);
        }
        s->self[r] = (float)sum;
    }
}

/* u from random rows, m from mutually best ones. */
static void learn_weights(tab_twin_pairs *s, const tab_row_pairs *seeds)
{
    for (size_t k = 0; k < s->l.attrs; k++) {
        double total = 0, *u = s->u + k * TAB_LEVELS;
        tab_tally m = { 0 };
        for (size_t i = 0; i < RANDOM_PAIRS; i++) {
            uint32_t p = (uint32_t)(tab_hash_mix(i, 17) % s->t[0]->rows),
                     q = (uint32_t)(tab_hash_mix(i, 19) % s->t[1]->rows);
            tab_agreement g = tab_agree(s->v, s->t[0], s->t[1], &s->l.attr[k], p, q, NULL);
            if (p == q && !s->across)
                continue;
            u[g.level]++;
            total += g.level != TAB_MISSING;
        }
        for (size_t q = 1; q < TAB_LEVELS; q++)
            u[q] = (u[q] + 0.5) / (total + 0.5 * (TAB_LEVELS - 1));
        for (size_t i = 0; i < seeds->n; i++) {
            tab_agreement g =
                tab_agree(s->v, s->t[0], s->t[1], &s->l.attr[k], seeds->a[i], seeds->b[i], NULL);
            tab_tally_add(&m, &g, 1);
        }
        tab_weights_learn(&s->l, k, &m, s->u);
    }
}

/* All that is counted of the pairs: their agreement, the weights, the evidence. */
static tab_status compare(const tab_engine *e, tab_twin_pairs *s, const tab_row_pairs *seeds, tab_arena *a,
                          tab_error *err)
{
    s->agree = tab_arena_new_of(a, tab_agreement, s->n * s->l.attrs);
    s->cosine = tab_arena_new_of(a, float, s->n);
    s->evidence = tab_arena_new_of(a, float, s->n);
    s->p = tab_arena_new_of(a, float, s->n);
    s->self = tab_arena_new_of(a, float, s->rows);
    if (!list_pairs(s, a) || tab_arena_full(a))
        return tab_no_memory(err);
    learn_weights(s, seeds);
    working w = { e, s };
    tab_engine_for(e, CHUNKS, agree_chunk, &w);
    tab_engine_for(e, CHUNKS, evidence_chunk, &w);
    tab_engine_for(e, CHUNKS, self_chunk, &w);
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : TAB_OK;
}

tab_status tab_twin_pairs_new(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                              size_t table, const tab_voice *voice, tab_arena *a, tab_twin_pairs *s,
                              tab_error *err)
{
    tab_row_pairs seeds = { 0 };
    const tab_table_view *t = &v->table[table];
    const tab_sparse *whole = &tables[table].whole;
    *s =
        (tab_twin_pairs){ .v = v, .t = { t, t }, .whole = { whole, whole }, .rows = t->rows, .voice = voice };
    if (!take_columns(s, a) || !read_terms(s, a) || !learn_joint(s, a))
        return tab_no_memory(err);
    s->own[0] = s->own[1] = s->l.attr;
    if (s->rows < 2 || s->l.attrs == 0)
        return TAB_OK;
    TAB_TRY(find_pairs(e, &tables[table], s, a, &seeds, err));
    return compare(e, s, &seeds, a, err);
}

tab_status tab_twin_pairs_between(const tab_engine *e, tab_twin_pairs *s, const tab_row_pairs *seeds,
                                  tab_arena *a, tab_error *err)
{
    if (!room_for_weights(s, a))
        return tab_no_memory(err);
    for (size_t k = 0; k < s->l.attrs; k++)
        s->entropy[k] = 0.5f * (entropy_of(column_of(s, k, 0)) + entropy_of(column_of(s, k, 1)));
    if (!read_terms(s, a) || !learn_joint(s, a))
        return tab_no_memory(err);
    return compare(e, s, seeds, a, err);
}
