/* See score.h: runs the trees. The model is a file of numbers that the linker takes in as it is
 * (tools/train/keys writes it), read as a tab_key_model. */
#include "services/inference/engine/keys/score.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/keys/choose.h"
#include "services/inference/engine/keys/root.h"

/* SURE: probability from which whole numbers of few values are said to refer; what lies between is as often
 * wrong as it is right where no schema like it was learned on (decision 0416). */
static const float BELOW = 0.49f, HALF = 0.5f, SURE = 0.65f;
/* Of moments that lie on another table's calendar, where each of its rows is a moment of its own: schemas
 * that the trees were fitted on have none (decision 0640). */
static const float CALENDAR = 0.95f;
/* Of 197 tables of public schemas whose rows are counted two are one to one with another one of them; the
 * sizes of 89 in 100 are as good as spread evenly over the logarithms from 10 to a million. */
static const double PARTNERS = 0.01, SIZES = 13;
/* What is said at the most of columns with the same values. */
static const double MOST_SAME = 0.98;
/* Values of a measure; logarithm of the chance that so many drawn from a key leave out so much of its end. */
enum { MEASURED = 50 };
static const double UPPER_END = -10;

/* The model's bytes, by their first and last address. */
__asm__(".section .rodata\n.balign 16\n.global tab_blob_keys\n.hidden tab_blob_keys\ntab_blob_keys:\n"
        ".incbin \"services/inference/engine/keys/keys.model\"\n.global tab_blob_keys_end\n"
        ".hidden tab_blob_keys_end\ntab_blob_keys_end:\n.previous\n");
extern const char tab_blob_keys[] __attribute__((visibility("hidden")));
extern const char tab_blob_keys_end[] __attribute__((visibility("hidden")));

/* The blob is part of the program: one that does not fit is our own mistake, and a build error in effect. */
const tab_key_model *tab_key_model_shipped(void)
{
    const void *blob = tab_blob_keys;
    if ((size_t)(tab_blob_keys_end - tab_blob_keys) != sizeof(tab_key_model) ||
        memcmp(blob, TAB_KEY_MARK, sizeof TAB_KEY_MARK) != 0)
        abort();
    return blob;
}

void tab_key_stage_run(const tab_key_stage *s, const tab_inclusion *x, size_t n, float *p)
{
    for (size_t i = 0; i < n; i++) {
        double z = tab_trees_add((double)s->start, s->tree, TAB_KEY_TREES, x[i].f);
        p[i] = (float)(1 / (1 + exp(-z)));
        assert(p[i] >= 0 && p[i] <= 1); /* a sum of leaves is finite */
    }
}

/* Whether a number of rows is one at which lists are cut: 20, 250, 1000, 1500. */
static bool is_round(uint32_t n)
{
    uint32_t zeros = 10;
    for (uint32_t rest = n / 1000; rest > 0; rest /= 10)
        zeros *= 10;
    return n % zeros == 0;
}

/* The least probability that chance leaves of two counters of as many rows each, of which nothing else tells
 * that they are one key: tables of one schema have n rows with a chance of 1 / (SIZES n), and so many tables
 * are another's partner one to one (decision 0550). Where there are no other tables it is all that is known
 * (decision 0742). */
static float partners(uint32_t n, size_t tables)
{
    double odds = PARTNERS / (double)(tables - 1) * SIZES * n;
    return is_round(n) ? BELOW : (float)(odds / (1 + odds));
}

/* Whether whole numbers lie among those of a counter as a measure does (places, packs, days): few values, of
 * which as many rows that are drawn from the counter would have four times as many, or hardly more, which
 * leave out its upper end as no draw would (decision 0597). */
static bool measures(const tab_key_column *c, const tab_key_column *q, const float *f)
{
    if (c->kind != TAB_KEY_WHOLE || f[TAB_KEY_F_PARENT_DENSE] < HALF)
        return false;
    double drawn = q->n * -expm1((double)c->present * log1p(-1.0 / q->n));
    return (c->n <= TAB_KEY_FEW && 4 * c->n < drawn) ||
           (c->n <= MEASURED && (double)f[TAB_KEY_F_TOP] < UPPER_END);
}

float tab_key_same_rows(double others)
{
    double z = log(PARTNERS) + others;
    return (float)fmin(1 / (1 + exp(-z)), MOST_SAME);
}

/* BELOW: just below the half from which references count. */
bool tab_keys_settle(const tab_key_columns *k, size_t columns, const tab_inclusion *x, size_t n, float *p)
{
    size_t tables = columns > 0 ? k->col[columns - 1].table + 1 : 0;
    for (size_t i = 0; i < n; i++) {
        const tab_key_column *c = &k->col[x[i].child], *q = &k->col[x[i].parent];
        if (c->kind == TAB_KEY_WHOLE && c->n <= TAB_KEY_FEW && p[i] < SURE)
            p[i] = fminf(p[i], BELOW);
        if (measures(c, q, x[i].f))
            p[i] = fminf(p[i], BELOW);
        if (c->counter && q->counter && x[i].f[TAB_KEY_F_FAME] < HALF)
            p[i] = tables == 2 && c->n == q->n ? partners(q->n, tables) : fminf(p[i], partners(q->n, tables));
        if (x[i].calendar)
            p[i] = fmaxf(p[i], CALENDAR);
        if (x[i].others > 0)
            p[i] = fmaxf(p[i], tab_key_same_rows(x[i].others));
    }
    if (!tab_keys_root(k, columns, x, n, p))
        return false;
    return tab_keys_choose(columns, x, n, p);
}

/* Whether p says rather that the parent refers to the child. */
static bool is_reverse(const tab_inclusion *x, size_t n, const float *p, size_t i)
{
    size_t back = tab_inclusion_at(x, n, x[i].parent, x[i].child);
    return back < n && (p[back] > p[i] || (p[back] == p[i] && back < i));
}

/* In a schema tables that hold one key are parts of it, and the trees know better which of them is referred
 * to: others (inclusions.h) count between tables that nothing else joins to any, and columns that no third
 * column holds. Which of the two refers to the other the trees say as well. False: out of memory. */
static bool leave_others(const tab_key_columns *k, size_t columns, tab_inclusion *x, size_t n, const float *p)
{
    size_t tables = columns > 0 ? k->col[columns - 1].table + 1 : 0;
    bool *joined = calloc(tables + columns + 1, sizeof *joined);
    if (joined == NULL)
        return false;
    bool *held = joined + tables; /* (columns) by a third column */
    for (size_t i = 0; i < n; i++) {
        if (x[i].others > 0)
            continue;
        held[x[i].child] = true;
        if (p[i] >= HALF)
            joined[k->col[x[i].child].table] = joined[k->col[x[i].parent].table] = true;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t c = x[i].child, q = x[i].parent;
        if (joined[k->col[c].table] || joined[k->col[q].table] || held[c] || held[q] ||
            is_reverse(x, n, p, i))
            x[i].others = 0;
    }
    free(joined);
    return true;
}

bool tab_keys_score(const tab_key_model *m, const tab_key_columns *k, size_t columns, tab_inclusion *x,
                    size_t n, float *p)
{
    tab_key_stage_run(&m->stage[0], x, n, p);
    if (!tab_inclusions_context(k, x, n, p))
        return false;
    tab_key_stage_run(&m->stage[1], x, n, p);
    if (!leave_others(k, columns, x, n, p))
        return false;
    return tab_keys_settle(k, columns, x, n, p);
}
