/* What of the other tables was known when a row is asked about (decision 0393): which dates of the target's
 * table are that moment, and which ways lead nowhere from the rows that are asked.
 *
 *   rows of its own    all after the date     it began then (a sign-up); nothing is cut
 *                      on both sides          it is asked about then
 *   rows that it shares with others alone (the account's transactions beside a loan)
 *                      some before            it is asked about then
 *   the single row that it refers to alone    it is asked about then: what is later is not known
 *
 * In doubt - few of its own are before, or none while shared ones are - the rows without a target decide:
 * where they have later rows as often as the others, those are known when one asks. Else the date cuts: too
 * little is said, and no answer is made of what came after. */
#include <math.h>

#include "services/inference/engine/relational/parts.h"

enum { LOOKED_ROWS = 2000, LOOKED_EACH = 64, LEAST_ASKED = 20 };
/* FEW of the rows before a date: it says when something began. SOME: in doubt. ALIKE: of the labelled rows'
 * share. HALF, FAR: rows that are asked have something half as often as the others, beyond so many standard
 * errors. By hand, not measured. */
static const double FEW = 0.05, SOME = 0.2, ALIKE = 0.8, HALF = 0.5, FAR = 4, DAY = 86400;

double tab_link_moment(const tab_links *l, double *const *date, size_t row)
{
    double least = (double)INFINITY;
    for (size_t c = 0; c < l->p[l->table]->table->cols; c++)
        if (l->moment[c])
            least = isnan(date[c][row]) || date[c][row] < least ? date[c][row] : least;
    return least;
}

static bool timed(const tab_links *l, const tab_way *w)
{
    return w->downs > 0 ? w->time != NULL : tab_link_clock(l, tab_way_end(w)) != NULL;
}

/* Whether times are whole days: a row of the date's own day is then not before it. */
static bool whole_days(const double *time, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(time[i]) && fmod(time[i], DAY) != 0)
            return false;
    return true;
}

/* Of the rows that are linked with the target's row, those before `date`, and all. */
static void before(const tab_links *l, const tab_way *w, uint64_t key, double date, tab_link_share *s)
{
    if (w->downs == 0) {
        uint32_t row = tab_way_row(w, key);
        double time = row == TAB_NULL ? (double)NAN : tab_link_clock(l, tab_way_end(w))[row];
        s->of += !isnan(time);
        s->before += time <= date;
        return;
    }
    uint32_t g = tab_way_group(w, tab_way_key(w, key));
    size_t many = g == TAB_NULL ? 0 : w->at[g + 1] - w->at[g], each = many < LOOKED_EACH ? many : LOOKED_EACH;
    for (size_t i = 0; i < each; i++) {
        double time = w->time[w->at[g] + i * many / each];
        s->of += !isnan(time);
        s->before += time < date;
    }
}

/* What lies before the dates of column c on one way. */
static tab_link_share share_of(const tab_links *l, const tab_way *w, size_t c)
{
    const tab_profile *p = l->p[l->table];
    size_t rows = p->table->rows, step = rows / LOOKED_ROWS + 1;
    tab_link_share s = { 0 };
    bool days = w->downs > 0 && w->groups > 0 && whole_days(w->time, w->at[w->groups]);
    for (size_t i = 0; i < rows; i += step) {
        double date = p->col[c].number[i];
        if (!isnan(date))
            before(l, w, w->hop[0].from->hash[i], days ? floor(date / DAY) * DAY : date, &s);
    }
    return s;
}

static bool few(const tab_link_share *s)
{
    return s->before < FEW * s->of;
}

/* The way to a table whose rows are also reached as the row's own says nothing more. */
static bool owned(const tab_links *l, size_t table)
{
    for (size_t i = 0; i < l->ways; i++)
        if (l->way[i].own && l->way[i].downs > 0 && tab_way_leaf(&l->way[i]) == table && timed(l, &l->way[i]))
            return true;
    return false;
}

/* Of several tables the one that speaks most for a moment counts. */
static void look(const tab_links *l, size_t c, tab_link_dates *d)
{
    for (size_t i = 0; i < l->ways; i++) {
        const tab_way *w = &l->way[i];
        bool many = w->downs > 0, own = many && w->own;
        if (w->sides > 0 || !timed(l, w) || (many && !own && owned(l, tab_way_leaf(w))))
            continue;
        tab_link_share s = share_of(l, w, c), *of = own ? &d->own : many ? &d->around : &d->single;
        if (s.of > 0 && (of->of == 0 || s.before * of->of > of->before * s.of))
            *of = s;
    }
}

/* Whether a row of the target's table has rows of its own at or after its date. */
static bool has_later(const tab_links *l, size_t c, size_t row)
{
    double date = l->p[l->table]->col[c].number[row];
    for (size_t i = 0; i < l->ways; i++) {
        const tab_way *w = &l->way[i];
        if (!w->own || w->downs == 0 || w->sides > 0 || !timed(l, w))
            continue;
        uint32_t g = tab_way_group(w, tab_way_key(w, w->hop[0].from->hash[row]));
        for (size_t k = g == TAB_NULL ? 0 : w->at[g + 1]; g != TAB_NULL && k > w->at[g]; k--)
            if (!isnan(w->time[k - 1])) { /* the latest */
                if (w->time[k - 1] >= date)
                    return true;
                break;
            }
    }
    return false;
}

/* Whether rows without a target have later rows of their own nearly as often as the others have. */
static bool later_is_known(const tab_links *l, size_t c)
{
    double has[2] = { 0 }, n[2] = { 0 };
    for (size_t i = 0; i < l->p[l->table]->table->rows; i++)
        if (!isnan(l->p[l->table]->col[c].number[i])) {
            n[l->open[i]]++;
            has[l->open[i]] += has_later(l, c, i);
        }
    return n[0] > 0 && n[1] >= LEAST_ASKED && has[0] > 0 && has[1] / n[1] >= ALIKE * has[0] / n[0];
}

static tab_link_date kind_of(const tab_links *l, size_t c, const tab_link_dates *d)
{
    if (d->own.of > 0) {
        bool none = few(&d->own), shared = d->around.of > 0 && !few(&d->around);
        if (none && !shared)
            return TAB_DATE_BEGINNING;
        bool doubt = none || d->own.before < SOME * d->own.of;
        return doubt && later_is_known(l, c) ? TAB_DATE_KNOWN : TAB_DATE_MOMENT;
    }
    if (d->around.of > 0)
        return few(&d->around) ? TAB_DATE_BEGINNING : TAB_DATE_MOMENT;
    return d->single.of > 0 ? TAB_DATE_MOMENT : TAB_DATE_NONE;
}

bool tab_link_moments(tab_arena *a, tab_links *l)
{
    const tab_profile *p = l->p[l->table];
    size_t cols = p->table->cols;
    l->moment = tab_arena_new_of(a, bool, cols + 1);
    l->date = tab_arena_new_of(a, tab_link_dates, cols + 1);
    if (l->moment == NULL || l->date == NULL)
        return false;
    if (l->as_of < cols) {
        l->moment[l->as_of] = true;
        l->moments = 1;
    }
    for (size_t c = 0; l->as_of == TAB_AS_OF_EVIDENCE && c < cols; c++) {
        if (c == l->target || !tab_link_dated(&p->col[c]))
            continue;
        look(l, c, &l->date[c]);
        l->date[c].kind = kind_of(l, c, &l->date[c]);
        l->moment[c] = l->date[c].kind == TAB_DATE_MOMENT;
        l->moments += l->moment[c];
    }
    for (size_t i = 0; i < l->ways; i++)
        l->way[i].cut = l->moments > 0 && timed(l, &l->way[i]);
    return true;
}

/* Whether the way leads from a row to something that counts for it. */
static bool leads(const tab_links *l, const tab_way *w, double *const *date, size_t row)
{
    double cut = w->cut ? tab_link_moment(l, date, row) : (double)NAN;
    uint64_t key = w->hop[0].from->hash[row];
    if (w->downs == 0) {
        uint32_t r = tab_way_row(w, key);
        return r != TAB_NULL && (!w->cut || !(tab_link_clock(l, tab_way_end(w))[r] > cut));
    }
    uint32_t g = tab_way_group(w, tab_way_key(w, key));
    return g != TAB_NULL && w->at[g + 1] > w->at[g] && (!w->cut || w->time[w->at[g]] < cut);
}

bool tab_link_absences(tab_arena *a, tab_links *l)
{
    const tab_profile *p = l->p[l->table];
    size_t rows = p->table->rows;
    double n = (double)(rows - l->asked), m = (double)l->asked;
    double **date = tab_arena_new_of(a, double *, p->table->cols + 1);
    if (date == NULL)
        return false;
    for (size_t c = 0; c < p->table->cols; c++)
        date[c] = (double *)(uintptr_t)p->col[c].number;
    for (size_t i = 0; i < l->ways && n > 0 && m > 0; i++) {
        tab_way *w = &l->way[i];
        double has[2] = { 0 };
        for (size_t r = 0; r < rows; r++)
            has[l->open[r]] += leads(l, w, date, r);
        w->with = has[0] / n;
        w->without = has[1] / m;
        double share = (has[0] + has[1]) / (n + m);
        w->absent = w->without < HALF * w->with &&
                    w->with - w->without > FAR * sqrt(share * (1 - share) * (1 / n + 1 / m));
    }
    return true;
}
