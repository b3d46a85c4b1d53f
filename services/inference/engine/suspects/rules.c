/* Columns that fix others nearly always, and the cells where they do not.
 *
 * X -> Y is an approximate functional dependency (Kivinen & Mannila, Approximate inference of functional
 * dependencies from relations, 1995): among rows of one X the share that has not the majority's Y, g3, is
 * small, and far smaller than with Y shuffled, which says what chance alone would make. Which of the two
 * cells is wrong is told by the others: a wrong Y is contradicted by every column that fixes it, a wrong X
 * contradicts every column that it fixes. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/suspects/parts.h"

enum { SCREENED = 4000 };              /* rows that a pair of columns is first looked at on */
static const double MOST_WRONG = 0.08; /* g3 of a dependency, at most */
static const double OF_CHANCE = 0.25;  /* and of what chance makes */

/* The rows of a table by one column's level. */
typedef struct {
    uint32_t *start; /* (levels + 1) */
    uint32_t *row;   /* the rows of level 0, of level 1, ... */
    size_t levels;
} grouped;

typedef struct {
    uint32_t x, y;
    double wrong, chance; /* g3, and g3 of the shuffled */
    double groups;        /* groups of two rows and more */
    uint32_t *apart;      /* (aparts) in order: rows against it that are of another kind */
    size_t aparts;
} dependency;

typedef struct {
    tab_search *s;
    const uint32_t *shuffle; /* (rows) a permutation of the rows */
    uint32_t *count;         /* (most levels) zero between uses */
    dependency *dep;
    size_t deps, room;
} rules;

static bool group(tab_search *s, const tab_seen *v, grouped *g)
{
    tab_arena *a = s->scratch;
    *g = (grouped){ tab_arena_new_of(a, uint32_t, v->levels + 2), tab_arena_new_of(a, uint32_t, s->rows + 1),
                    v->levels };
    if (g->start == NULL || g->row == NULL)
        return false;
    for (size_t l = 0; l < v->levels; l++)
        g->start[l + 1] = g->start[l] + v->count[l];
    uint32_t *next = tab_arena_new_of(a, uint32_t, v->levels + 1);
    if (next == NULL)
        return false;
    memcpy(next, g->start, v->levels * sizeof *next);
    for (size_t r = 0; r < s->rows; r++)
        if (v->code[r] != TAB_NULL)
            g->row[next[v->code[r]]++] = (uint32_t)r;
    return true;
}

/* The majority's level among rows [from, to) of g, NULL cells apart; *ret_k: its rows, *ret_n: rows with a
 * value. */
static uint32_t majority(const rules *u, const tab_seen *y, const grouped *g, size_t from, size_t to,
                         const uint32_t *shuffle, uint32_t *ret_k, uint32_t *ret_n)
{
    uint32_t best = TAB_NULL;
    *ret_k = *ret_n = 0;
    for (size_t i = from; i < to; i++) {
        uint32_t l = y->code[shuffle == NULL ? g->row[i] : shuffle[g->row[i]]];
        if (l == TAB_NULL)
            continue;
        ++*ret_n;
        if (++u->count[l] > *ret_k)
            *ret_k = u->count[l], best = l;
    }
    for (size_t i = from; i < to; i++) {
        uint32_t l = y->code[shuffle == NULL ? g->row[i] : shuffle[g->row[i]]];
        if (l != TAB_NULL)
            u->count[l] = 0;
    }
    return best;
}

/* g3 over groups of two rows and more, of `most` rows in all. False: too few rows to say. */
static bool errors(const rules *u, const tab_seen *y, const grouped *g, size_t most, dependency *d)
{
    double rows = 0, wrong = 0, chance = 0, groups = 0;
    uint32_t k, n, first = TAB_NULL;
    bool varies = false;
    size_t stride = g->start[g->levels] > most ? g->start[g->levels] / most : 1;
    for (size_t l = 0; l < g->levels; l += stride) {
        size_t from = g->start[l], to = g->start[l + 1];
        if (to - from < 2)
            continue;
        uint32_t of = majority(u, y, g, from, to, NULL, &k, &n);
        if (n < 2)
            continue;
        rows += n, wrong += n - k, groups++;
        varies |= first != TAB_NULL && of != first;
        first = of;
        (void)majority(u, y, g, from, to, u->shuffle, &k, &n);
        chance += n - k;
    }
    d->wrong = rows > 0 ? wrong / rows : 1;
    d->chance = rows > 0 ? chance / rows : 0;
    d->groups = groups;
    return rows >= TAB_SUSPECT_ROWS && groups >= 3 && varies;
}

static bool holds(const dependency *d)
{
    return d->wrong <= MOST_WRONG && d->wrong <= OF_CHANCE * d->chance;
}

static bool repeats(const tab_seen *v)
{
    return v->levels >= 3 && v->present >= TAB_SUSPECT_ROWS && v->levels <= v->present - v->present / 5;
}

/* Calls fn for each row of a group of three and more that has a clear majority. */
static void each_row(const rules *u, const dependency *d, const grouped *g, void *arg,
                     void (*fn)(void *arg, const dependency *d, uint32_t row, bool right, uint32_t majority,
                                uint32_t k, uint32_t n))
{
    const tab_seen *y = &u->s->seen[d->y];
    for (size_t l = 0; l < g->levels; l++) {
        size_t from = g->start[l], to = g->start[l + 1];
        uint32_t k, n;
        if (to - from < 3)
            continue;
        uint32_t w = majority(u, y, g, from, to, NULL, &k, &n);
        if (n < 3 || k * 3 < n * 2)
            continue;
        for (size_t i = from; i < to; i++)
            if (y->code[g->row[i]] != TAB_NULL)
                fn(arg, d, g->row[i], y->code[g->row[i]] == w, w, k, n);
    }
}

static void note_verdict(void *arg, const dependency *d, uint32_t row, bool right, uint32_t m, uint32_t k,
                         uint32_t n)
{
    uint8_t *judged = arg;
    (void)d, (void)m, (void)k, (void)n;
    judged[row] = right ? TAB_LAW_HOLDS : TAB_LAW_BROKEN;
}

/* The rows against d that a value of another column tells apart. False: memory ran out. */
static bool apart_of(const rules *u, const grouped *g, dependency *d)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    size_t rows = u->s->rows, own[] = { d->x, d->y }, n = 0;
    uint8_t *judged = a == NULL ? NULL : tab_arena_new_of(a, uint8_t, rows + 1);
    if (judged == NULL)
        return false;
    each_row(u, d, g, judged, note_verdict);
    if (!tab_suspects_told_apart(u->s, judged, own, 2))
        return false;
    for (size_t i = 0; i < rows; i++)
        n += judged[i] == TAB_LAW_OTHER_KIND;
    if (n == 0)
        return true;
    d->apart = tab_arena_new_of(u->s->scratch, uint32_t, n);
    for (size_t i = 0; d->apart != NULL && i < rows; i++)
        if (judged[i] == TAB_LAW_OTHER_KIND)
            d->apart[d->aparts++] = (uint32_t)i;
    return d->apart != NULL;
}

static bool is_apart(const dependency *d, uint32_t row)
{
    return d->aparts > 0 && bsearch(&row, d->apart, d->aparts, sizeof row, tab_ascending_u32) != NULL;
}

/* Every dependency from column x; its groups stay in g. */
static bool search_from(rules *u, size_t x, grouped *g)
{
    tab_search *s = u->s;
    size_t cols = s->p->table->cols < TAB_SUSPECT_COLUMNS ? s->p->table->cols : TAB_SUSPECT_COLUMNS;
    if (!group(s, &s->seen[x], g))
        return false;
    for (size_t y = 0; y < cols; y++) {
        const tab_seen *v = &s->seen[y];
        dependency d = { .x = (uint32_t)x, .y = (uint32_t)y };
        if (y == x || v->levels < 2 || v->present < TAB_SUSPECT_ROWS || u->deps == u->room)
            continue;
        if (errors(u, v, g, SCREENED, &d) && d.wrong <= 2 * MOST_WRONG && errors(u, v, g, SIZE_MAX, &d) &&
            holds(&d)) {
            if (d.wrong > 0 && !apart_of(u, g, &d))
                return false;
            u->dep[u->deps++] = d;
        }
    }
    return true;
}

/* What the dependencies into one column say of each of its cells. */
typedef struct {
    float against, with; /* columns that contradict the cell, that agree with it */
    float most;          /* log10 of the rows of the greatest majority against it */
    float purity;        /* and that majority's share of its group */
    float wrong, ratio, groups, blame;
    uint32_t majority, other, agree, of;
} said;

/* (columns, rows) of columns that fix others: how many of these a row's cell contradicts. */
typedef struct {
    uint8_t **broken; /* (cols) each (rows), NULL: it fixes fewer than two */
    const size_t *fixes;
    said *said; /* (rows) */
} verdict;

static void count_broken(void *arg, const dependency *d, uint32_t row, bool right, uint32_t m, uint32_t k,
                         uint32_t n)
{
    verdict *v = arg;
    (void)m, (void)k, (void)n;
    if (v->broken[d->x] != NULL && !right && v->broken[d->x][row] < UINT8_MAX && !is_apart(d, row))
        v->broken[d->x][row]++;
}

static void hear(void *arg, const dependency *d, uint32_t row, bool right, uint32_t m, uint32_t k, uint32_t n)
{
    verdict *v = arg;
    said *q = &v->said[row];
    if (right) {
        q->with++;
        return;
    }
    if (is_apart(d, row))
        return;
    float blame =
        v->broken[d->x] == NULL ? 0 : (float)(v->broken[d->x][row] - 1) / (float)(v->fixes[d->x] - 1);
    float most = (float)log10(k);
    q->blame = q->against == 0 || blame < q->blame ? blame : q->blame;
    q->against++;
    if (q->against > 1 && most <= q->most)
        return;
    q->most = most;
    q->purity = (float)k / (float)n;
    q->wrong = (float)d->wrong;
    q->ratio = (float)(d->chance > 0 ? d->wrong / d->chance : 1);
    q->groups = (float)d->groups;
    q->majority = m;
    q->other = d->x;
    q->agree = k;
    q->of = n;
}

static void emit(tab_search *s, size_t y, const said *q, size_t row)
{
    const tab_seen *v = &s->seen[y];
    bool digit;
    tab_suspect *c = tab_suspects_add(s, row, y, TAB_SUSPECT_RULE);
    if (c == NULL)
        return;
    uint32_t own = v->code[row];
    c->f[0] = q->against > 4 ? 1 : q->against / 4;
    c->f[1] = q->with > 4 ? 1 : q->with / 4;
    c->f[2] = q->most / 2;
    c->f[3] = q->purity;
    c->f[4] = (float)(-log10((double)q->wrong + 1e-4) / 4);
    c->f[5] = q->blame;
    c->f[6] = q->ratio / (float)OF_CHANCE;
    c->f[7] = tab_one_edit(v->text[own], v->text[q->majority], &digit);
    c->f[8] = v->count[own] == 1;
    c->f[9] = q->against / (q->against + q->with);
    c->f[10] = (float)(tab_log_count(q->groups) / 3);
    c->suggestion = v->text[q->majority];
    c->other = q->other;
    c->agree = q->agree;
    c->of = q->of;
}

/* The dependencies found, column by column of those that they fix. */
static bool tell(rules *u, const grouped *g)
{
    tab_search *s = u->s;
    size_t cols = s->p->table->cols;
    size_t *fixes = tab_arena_new_of(s->scratch, size_t, cols + 1);
    verdict v = { .broken = tab_arena_new_of(s->scratch, uint8_t *, cols + 1),
                  .said = tab_arena_new_of(s->scratch, said, s->rows + 1),
                  .fixes = fixes };
    if (fixes == NULL || v.broken == NULL || v.said == NULL)
        return false;
    for (size_t i = 0; i < u->deps; i++)
        fixes[u->dep[i].x]++;
    for (size_t x = 0; x < cols; x++)
        if (fixes[x] > 1 && (v.broken[x] = tab_arena_new_of(s->scratch, uint8_t, s->rows + 1)) == NULL)
            return false;
    for (size_t i = 0; i < u->deps; i++)
        each_row(u, &u->dep[i], &g[u->dep[i].x], &v, count_broken);
    for (size_t y = 0; y < cols && !s->failed; y++) {
        bool any = false;
        memset(v.said, 0, s->rows * sizeof *v.said);
        for (size_t i = 0; i < u->deps; i++)
            if (u->dep[i].y == y)
                each_row(u, &u->dep[i], &g[u->dep[i].x], &v, hear), any = true;
        for (size_t r = 0; any && r < s->rows && !s->failed; r++)
            if (v.said[r].against > 0)
                emit(s, y, &v.said[r], r);
    }
    return true;
}

/* A permutation of the rows, the same for a table of that length. */
static uint32_t *shuffled(tab_arena *a, size_t rows)
{
    uint32_t *p = tab_arena_new_of(a, uint32_t, rows + 1);
    uint64_t x = 0x9E3779B97F4A7C15u;
    for (size_t i = 0; p != NULL && i < rows; i++)
        p[i] = (uint32_t)i;
    for (size_t i = rows; p != NULL && i > 1; i--) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* xorshift64 (Marsaglia 2003) */
        size_t j = x % i;
        uint32_t t = p[j];
        p[j] = p[i - 1], p[i - 1] = t;
    }
    return p;
}

void tab_suspects_rules(tab_search *s)
{
    size_t cols = s->p->table->cols < TAB_SUSPECT_COLUMNS ? s->p->table->cols : TAB_SUSPECT_COLUMNS, most = 0;
    for (size_t c = 0; c < cols; c++)
        most = s->seen[c].levels > most ? s->seen[c].levels : most;
    rules u = { .s = s,
                .shuffle = shuffled(s->scratch, s->rows),
                .count = tab_arena_new_of(s->scratch, uint32_t, most + 1),
                .room = cols * cols,
                .dep = tab_arena_new_of(s->scratch, dependency, cols * cols + 1) };
    grouped *g = tab_arena_new_of(s->scratch, grouped, cols + 1);
    bool ok = u.shuffle != NULL && u.count != NULL && u.dep != NULL && g != NULL;
    for (size_t x = 0; ok && x < cols; x++)
        if (repeats(&s->seen[x]) && !tab_engine_cancelled(s->e))
            ok = search_from(&u, x, &g[x]);
    if (ok && u.deps > 0)
        ok = tell(&u, g);
    s->failed |= !ok;
}
