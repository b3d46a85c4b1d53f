/* Dates of which day and month are exchanged, in a column that has their form: 2024-08-07 where the row's
 * other cells say the 8th of July. Such a date is as good as any by itself. It lies far from what the row's
 * other cells make of it (given.c), and exchanged it lies there.
 *
 * Another date that is far off would be brought as near in NEAR spreads each way of a year's days. The odds
 * are the dates that are brought there, to those that chance would bring of all that are far off and can be
 * exchanged, at most ODDS. Decision 0913. */
#include <math.h>

#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/suspects/given.h"

enum { NEAR = 3, FAR = 6, DAY = 86400 };
static const double YEAR = 365.25, ODDS = 30, LEAST_ODDS = 6;

/* The moment with day and month exchanged; NaN: it has no other. */
static double exchanged(double x)
{
    int y, m, d;
    double days = floor(x / DAY);
    tab_civil_from_days((int64_t)days, &y, &m, &d);
    if (d > 12 || d == m)
        return (double)NAN;
    return x + ((double)tab_days_from_civil(y, d, m) - days) * DAY;
}

/* The text with its two groups of digits exchanged that are the day and the month; n = 0: it holds no two. */
static tab_str text_exchanged(tab_arena *a, tab_str t, double x)
{
    int y, m, d;
    size_t from[2], n[2], groups = 0;
    tab_civil_from_days((int64_t)floor(x / DAY), &y, &m, &d);
    for (size_t i = 0, k; i < t.n && groups < 2; i = k + 1) {
        int number = 0;
        for (k = i; k < t.n && t.p[k] >= '0' && t.p[k] <= '9' && k < i + 4; k++)
            number = 10 * number + (t.p[k] - '0');
        if (k > i && k <= i + 2 && (number == d || number == m))
            from[groups] = i, n[groups++] = k - i;
    }
    if (groups < 2)
        return TAB_S("");
    size_t between = from[0] + n[0], behind = from[1] + n[1];
    char *text = tab_arena_printf(a, "%.*s%.*s%.*s%.*s%.*s", (int)from[0], t.p, (int)n[1], t.p + from[1],
                                  (int)(from[1] - between), t.p + between, (int)n[0], t.p + from[0],
                                  (int)(t.n - behind), t.p + behind);
    return text == NULL ? TAB_S("") : tab_str_of(text);
}

/* Whether the date is far off and can be exchanged; *ret: whether it is near then. */
static bool is_far(const tab_residuals *m, double x, size_t row, double near, bool *ret)
{
    double left = m->left[row], other = isfinite(left) ? exchanged(x) : (double)NAN;
    if (!isfinite(other) || !(fabs(left) > FAR * near / NEAR))
        return false;
    *ret = fabs(left + other - x) <= near;
    return true;
}

void tab_suspects_exchanged(tab_search *s, const tab_numbers *u, size_t k, const tab_residuals *m)
{
    size_t column = u->col[k], far = 0, brought = 0;
    const tab_seen *v = &s->seen[column];
    if (v->col->type != TAB_DATETIME || m->left == NULL || m->log || v->code == NULL || m->spread < 0)
        return;
    double near = NEAR * fmax(m->spread, DAY / 2.0), by_chance = fmin(1, 2 * near / DAY / YEAR);
    bool is;
    for (size_t i = 0; i < s->rows; i++)
        if (isfinite(v->num[i]) && is_far(m, v->num[i], i, near, &is))
            far++, brought += is;
    double odds = far == 0 ? 0 : fmin(ODDS, (double)brought / ((double)far * by_chance));
    for (size_t i = 0; odds >= LEAST_ODDS && i < s->rows; i++) {
        if (v->code[i] == TAB_NULL || !isfinite(v->num[i]) || !is_far(m, v->num[i], i, near, &is) || !is)
            continue;
        tab_suspect *c = tab_suspects_add(s, i, column, TAB_SUSPECT_CODE);
        if (c == NULL)
            return;
        c->f[0] = (float)log(odds);
        c->f[TAB_CODE_EXCHANGED] = 1;
        c->suggestion = text_exchanged(s->arena, v->text[v->code[i]], v->num[i]);
        c->agree = (uint32_t)(v->present - far);
        c->of = (uint32_t)v->present;
    }
}
