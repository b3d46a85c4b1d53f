/* See made.h: tables without time. */
#include "services/inference/engine/series/tests/made_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/profile/cells/parse.h"

typedef struct {
    double x[3], y, key;
    size_t cat, born, at;
} thing;

static int by_key(const void *a, const void *b)
{
    const thing *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->at > y->at) - (x->at < y->at); // NOLINT
}

enum {
    BORN,
    SORTED,
    SORTED_TARGET,
    SORTED_GROUP,
    SURVEY,
    COUNTER,
    WALKING_ID,
    BUILT,
    COPIES,
    DESIGN,
    LINES,
    RATINGS,
    PLAIN,
    KINDS
};
static const char *const kinds[] = {
    "none: birth dates",    "none: sorted export", "none: sorted by target", "none: sorted by group",
    "none: survey by year", "none: counter",       "none: ids that grow",    "none: year built",
    "none: copies",         "none: design",        "none: lines of orders",  "none: ratings",
    "none: plain"
};

/* Things whose rows are exchangeable, then sorted by whatever the kind says. */
static void draw_things(int kind, thing *t, size_t n)
{
    size_t groups = 5 + made_below(20);
    bool unlike = made_chance(0.5); /* sorted by a column that the target does not follow */
    for (size_t r = 0; r < n; r++) {
        t[r].cat = made_below(groups);
        t[r].born = made_below(18000);
        for (size_t k = 0; k < 3; k++)
            t[r].x[k] = k == 1 ? floor(50 * made_unit()) : made_normal();
        if (made_other) {
            t[r].x[0] = exp(0.6 * t[r].x[0]);
            t[r].x[1] = floor(-12 * log(made_unit() + 1e-9));
        }
        t[r].y = t[r].x[0] * 2 + 0.05 * t[r].x[1] + 0.4 * (double)(t[r].cat % 3) + made_normal();
        t[r].at = r;
        t[r].key = kind == SORTED          ? t[r].x[unlike ? 2 : 0]
                   : kind == SORTED_TARGET ? t[r].y
                   : kind == SORTED_GROUP  ? (double)t[r].cat
                   : kind == BUILT         ? (double)(t[r].born / 365)
                                           : (double)r;
        if (kind == BUILT)
            t[r].y += 0.05 * (double)(t[r].born / 365);
        if (kind == SORTED_GROUP)
            t[r].y += 2 * sin((double)t[r].cat * 5);
    }
    if (kind != BUILT || made_chance(0.5))
        qsort(t, n, sizeof *t, by_key);
}

static const char *own_columns(int kind)
{
    static const char *const names[KINDS] = {
        [BORN] = "birth,", [COUNTER] = "id,",         [WALKING_ID] = "id,",    [SURVEY] = "year,",
        [BUILT] = "year,", [DESIGN] = "person,dose,", [LINES] = "order,line,", [RATINGS] = "q1,q2,q3,q4,age,",
    };
    return names[kind] != NULL ? names[kind] : "";
}

/* What goes from row to row. */
typedef struct {
    size_t id, people, order, line, left;
} tally;

/* The cells of the columns that make the kind. */
static void put_own(made_page *o, int kind, const thing *x, size_t r, tally *k)
{
    int y, m, d;
    tab_civil_from_days(-8000 + (int64_t)x->born, &y, &m, &d);
    if (kind == BORN)
        made_put(o, "%04d-%02d-%02d,", y, m, d);
    if (kind == COUNTER)
        made_put(o, "%zu,", r + 1);
    if (kind == WALKING_ID)
        made_put(o, "%zu,", k->id += 1 + made_below(40));
    if (kind == SURVEY)
        made_put(o, "%zu,", 1997 + made_below(8));
    if (kind == BUILT)
        made_put(o, "%d,", y);
    if (kind == DESIGN)
        made_put(o, "%zu,%zu,", r / k->people + 1, r % k->people + 1);
    if (kind == LINES) {
        if (k->line == k->left)
            k->order += 1 + made_below(3), k->line = 0, k->left = 1 + made_below(6);
        made_put(o, "%zu,%zu,", k->order, ++k->line);
    }
    if (kind == RATINGS)
        made_put(o, "%zu,%zu,%zu,%zu,%zu,", 1 + made_below(5), 1 + made_below(5), 1 + made_below(12),
                 1 + made_below(31), 18 + made_below(60));
}

void made_without_time(size_t i, made_table *ret)
{
    int kind = (int)(i % KINDS);
    size_t n = made_chance(0.2) ? 14 + made_below(60) : 120 + made_below(1500);
    thing *t = calloc(n, sizeof *t);
    made_page o = { 0 };
    draw_things(kind, t, n);
    bool descending = made_chance(0.4);
    tally k = {
        .id = 1000 + made_below(5000), .people = 10 + made_below(30), .order = 1, .left = 1 + made_below(6)
    };
    size_t last = made_chance(0.5) ? n - n / 7 : n + 1;
    made_put(&o, "%sa,b,c,group,y\n", own_columns(kind));
    for (size_t r = 0; r < n; r++) {
        size_t of = kind == COPIES ? r - r % 3 : r;
        const thing *x = &t[descending ? n - 1 - of : of];
        put_own(&o, kind, x, r, &k);
        made_put(&o, "%.3f,%.0f,%.2f,G%zu,", x->x[0], x->x[1], x->x[2], x->cat);
        bool asked = last <= n ? r >= last : made_chance(0.15);
        if (asked)
            made_put(&o, "\n");
        else
            made_put(&o, "%.4g\n", x->y);
    }
    *ret = (made_table){ .group = kinds[kind], .text = o.p, .n = o.n, .kind = TAB_TIME_NONE };
    free(t);
}
