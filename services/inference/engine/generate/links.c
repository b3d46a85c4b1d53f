/* Which row of another table a row hangs on. */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/generate/plan.h"

static bool repeats(const table *t, uint64_t row)
{
    return row > 0 && generate_unit(t->key + 1, row) < t->duplicates;
}

void rows_begin(context *c, uint64_t row)
{
    c->row = c->src = row;
    c->done = 0;
    c->parents = 0;
    c->used = 0;
    for (int k = 0; k < 8 && c->t->duplicates > 0 && repeats(c->t, c->src); k++) {
        uint64_t back = c->src < 500 ? c->src : 500;
        assert(back > 0);
        c->src -= 1 + generate_hash(c->t->key + 2, c->src) % back;
    }
}

context *rows_held(tab_generate_reader *r, size_t t, uint64_t row)
{
    context *c = &r->held[t][row % HELD];
    if (c->row != row)
        rows_begin(c, row);
    return c;
}

/* GROUP neighbours above share a fixed number of rows below: each has `least`, the rest is drawn, a few get
 * many. So both ways are found without reading what is before: whose a row is, and which a row has. */
static const group *group_at(tab_generate_reader *r, size_t child, uint64_t at)
{
    const parent *p = &r->g->table[child].parent[0];
    group *m = &r->groups[child][at % GROUPS];
    if (m->at == at + 1)
        return m;
    uint16_t n[GROUP];
    size_t least = (size_t)p->least;
    for (size_t i = 0; i < GROUP; i++)
        n[i] = (uint16_t)least;
    for (size_t k = least * GROUP; k < p->in_group; k++) {
        double u = generate_unit(p->key, at * p->in_group + k);
        size_t i = (size_t)(GROUP * u * sqrt(u));
        n[(i * 37 + at) % GROUP]++;
    }
    m->before[0] = 0;
    for (size_t i = 0; i < GROUP; i++)
        m->before[i + 1] = (uint16_t)(m->before[i] + n[i]);
    assert(m->before[GROUP] == p->in_group); /* a group's rows below are all drawn */
    m->at = at + 1;
    return m;
}

void rows_lines(tab_generate_reader *r, size_t child, uint64_t row, uint64_t *first, uint64_t *n)
{
    const table *t = &r->g->table[child];
    const group *m = group_at(r, child, row / GROUP);
    uint64_t base = row / GROUP * t->parent[0].in_group;
    *first = base + m->before[row % GROUP];
    *n = (uint64_t)m->before[row % GROUP + 1] - m->before[row % GROUP];
}

uint64_t rows_line_of(tab_generate_reader *r, size_t child, uint64_t row, uint64_t *line)
{
    const parent *p = &r->g->table[child].parent[0];
    uint64_t at = row / p->in_group;
    size_t in = (size_t)(row % p->in_group), lo = 0;
    const group *m = group_at(r, child, at);
    for (size_t half = GROUP / 2; half > 0; half /= 2)
        if (m->before[lo + half] <= in)
            lo += half;
    assert(m->before[lo] <= in && in < m->before[lo + 1]); /* the way back of rows_lines */
    *line = in - m->before[lo];
    return at * GROUP + lo;
}

/* How many rows of the table above came before the moment: its times rise with its rows. */
static uint64_t rows_before(tab_generate_reader *r, const parent *p, double moment)
{
    uint64_t lo = 0, hi = r->g->table[p->table].rows;
    context *c = &r->probe[p->table];
    while (hi - lo > 1) {
        uint64_t mid = (lo + hi) / 2;
        rows_begin(c, mid);
        if (r->value(r, c, (size_t)p->theirs)->x <= moment)
            lo = mid;
        else
            hi = mid;
    }
    return lo + 1;
}

static uint64_t above_row(tab_generate_reader *r, context *c, size_t k)
{
    const parent *p = &c->t->parent[k];
    uint64_t n = r->g->table[p->table].rows, line;
    if (p->way == PARENT_LINES)
        return rows_line_of(r, (size_t)(c->t - r->g->table), c->row, &line);
    if (p->way == PARENT_CYCLE)
        return c->row % n;
    if (p->way == PARENT_OTHER) /* than the one before */
        return (rows_above(r, c, k - 1) + 1 + (uint64_t)((double)(n - 1) * generate_unit(p->key, c->src))) %
               n;
    if (p->way == PARENT_SELF)
        n = c->row > 0 ? c->row : 1;
    if (p->way == PARENT_AFTER)
        n = rows_before(r, p, r->value(r, c, (size_t)p->ours)->x);
    double u = generate_unit(p->key, c->src); /* a few are met often */
    uint64_t i = (uint64_t)((double)n * u * sqrt(u));
    return i < n ? i : n - 1;
}

uint64_t rows_above(tab_generate_reader *r, context *c, size_t k)
{
    if ((c->parents & 1U << k) == 0) {
        c->parent_row[k] = above_row(r, c, k);
        assert(c->parent_row[k] < r->g->table[c->t->parent[k].table].rows); /* a key that is there */
        c->parents |= 1U << k;
    }
    return c->parent_row[k];
}

/* Good until another row of that table is asked for. */
context *rows_parent(tab_generate_reader *r, context *c, size_t k)
{
    return rows_held(r, c->t->parent[k].table, rows_above(r, c, k));
}
