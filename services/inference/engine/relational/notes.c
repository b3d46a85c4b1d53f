/* What is said of each table that is linked with the target's: from when its rows count, how many do, and
 * why (decision 0393). */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/relational/parts.h"

enum { NAME = 80 };
static const double MUCH = 0.1; /* of a table's rows: what is left out is warned of */

/* One table's rows: linked with the target's rows at all, and counting for one of them. */
typedef struct {
    const tab_links *l;
    size_t table;
    const tab_way *way; /* the first that is read; else the first */
    bool *linked, *used;
} look;

static tab_str cut_name(tab_str s)
{
    return (tab_str){ s.p, s.n > NAME ? NAME : s.n };
}

static tab_str table_name(const tab_links *l, size_t table)
{
    return cut_name(l->p[table]->table->id);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void single(look *k, const tab_way *w, double *const *date)
{
    const double *clock = tab_link_clock(k->l, k->table);
    for (size_t i = 0; i < k->l->p[k->l->table]->table->rows; i++) {
        uint32_t row = tab_way_row(w, w->hop[0].from->hash[i]);
        if (row == TAB_NULL)
            continue;
        double moment = w->cut ? tab_link_moment(k->l, date, i) : (double)NAN;
        k->linked[row] = true;
        if (!w->absent && (!w->cut || (!isnan(moment) && !(clock[row] > moment))))
            k->used[row] = true;
    }
}

/* until (groups): the latest moment that a group's rows are asked for; -1e300 where they are not. */
static bool many(tab_arena *a, look *k, const tab_way *w, double *const *date)
{
    double *until = tab_arena_new_of(a, double, w->groups + 1);
    if (until == NULL)
        return false;
    for (size_t g = 0; g < w->groups; g++)
        until[g] = (double)NAN;
    for (size_t i = 0; i < k->l->p[k->l->table]->table->rows; i++) {
        uint32_t g = tab_way_group(w, tab_way_key(w, w->hop[0].from->hash[i]));
        double moment = w->cut ? tab_link_moment(k->l, date, i) : (double)INFINITY;
        if (g != TAB_NULL && !(until[g] >= moment))
            until[g] = isnan(moment) ? -(double)INFINITY : moment;
    }
    for (size_t g = 0; g < w->groups; g++)
        for (size_t at = w->at[g]; !isnan(until[g]) && at < w->at[g + 1]; at++) {
            uint32_t row = w->side != NULL ? w->side[w->leaf[at]] : w->leaf[at];
            if (row == TAB_NULL)
                continue;
            k->linked[row] = true;
            if (!w->absent && (!w->cut || w->time[at] < until[g]))
                k->used[row] = true;
        }
    return true;
}

/* ---- words ----------------------------------------------------------------------------------- */

static char *date_name(tab_arena *a, const tab_links *l, size_t c)
{
    const tab_table *t = l->p[l->table]->table;
    tab_str id = table_name(l, l->table), of = cut_name(tab_column_address(a, t, c));
    return tab_arena_printf(a, "`%.*s.%.*s`", TAB_STR(id), TAB_STR(of));
}

/* A date that is no moment, and that the way's rows were held against; the table's width: none. */
static size_t other_date(const tab_links *l)
{
    size_t cols = l->p[l->table]->table->cols;
    for (size_t c = 0; c < cols; c++)
        if (l->date[c].kind == TAB_DATE_KNOWN)
            return c;
    for (size_t c = 0; c < cols; c++)
        if (l->date[c].kind == TAB_DATE_BEGINNING)
            return c;
    return cols;
}

/* The first moment; of several the least counts. */
static size_t first_moment(const tab_links *l)
{
    size_t c = 0;
    while (c < l->p[l->table]->table->cols && !l->moment[c])
        c++;
    return c;
}

static bool has_time(const tab_links *l, const tab_way *w)
{
    return w->downs > 0 ? w->time != NULL : tab_link_clock(l, tab_way_end(w)) != NULL;
}

/* Why rows count from when they do. */
static char *why(tab_arena *a, const look *k, bool later)
{
    const tab_links *l = k->l;
    const tab_way *w = k->way;
    tab_str id = table_name(l, k->table);
    size_t other = other_date(l);
    if (w->absent)
        return tab_arena_printf(
            a,
            "%.0f%% of the rows with a target have rows in `%.*s`, but %.0f%% of those without; it says "
            "nothing about the rows to predict and was left out",
            100 * w->with, TAB_STR(id), 100 * w->without);
    if (l->as_of == TAB_AS_OF_NONE)
        return tab_arena_printf(a, "all rows of `%.*s` are used, as given in `options.as_of`", TAB_STR(id));
    if (!has_time(l, w))
        return tab_arena_printf(a, "`%.*s` has no time column; all of its rows are used", TAB_STR(id));
    if (w->cut && l->as_of < l->p[l->table]->table->cols)
        return tab_arena_printf(a, "rows of `%.*s` before %s are used, as given in `options.as_of`",
                                TAB_STR(id), date_name(a, l, l->as_of));
    if (w->cut)
        return tab_arena_printf(
            a, "rows of `%.*s` before %s%s are used; that time is among the times of the linked rows",
            TAB_STR(id), date_name(a, l, first_moment(l)),
            l->moments > 1 ? " (the earliest of the row's dates)" : "");
    if (!later)
        return tab_arena_printf(
            a,
            "`%.*s` has no column that says as of when its rows are predicted; all rows of `%.*s` are used",
            TAB_STR(table_name(l, l->table)), TAB_STR(id));
    if (l->date[other].kind == TAB_DATE_KNOWN)
        return tab_arena_printf(
            a,
            "rows to predict have linked rows after %s as often as the others do, so all rows of `%.*s` are "
            "used",
            date_name(a, l, other), TAB_STR(id));
    return tab_arena_printf(
        a, "linked rows come after %s, which is when a row began; all rows of `%.*s` are used",
        date_name(a, l, other), TAB_STR(id));
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool warn(tab_link_told *told, char *text)
{
    told->warning[told->warnings++] = text;
    return text != NULL;
}

/* What a person would want to know first. read: columns that are made of the table. */
static bool doubt(tab_arena *a, const look *k, const Tabella__LinkedTable *m, size_t read, bool later,
                  tab_link_told *told, bool *ret_later)
{
    const tab_links *l = k->l;
    tab_str id = table_name(l, k->table);
    double all = (double)(m->rows_used + m->rows_left_out);
    if (k->way->absent)
        return warn(told, tab_arena_printf(a, "left_out: %s", why(a, k, false)));
    if ((double)m->rows_left_out > MUCH * all && k->way->sides == 0)
        return warn(
            told,
            tab_arena_printf(
                a, "left_out: %llu of %.0f rows of `%.*s` are later than %s and are not used%s",
                (unsigned long long)m->rows_left_out, all, TAB_STR(id), date_name(a, l, first_moment(l)),
                l->as_of != TAB_AS_OF_EVIDENCE
                    ? ""
                    : "; if the rows are predicted as of another time, name its column in `options.as_of`, "
                      "or give `none`"));
    *ret_later = later && read > 0 && k->way->sides == 0;
    const tab_link_shift *s = &l->shift[k->table];
    return s->name == NULL ||
           warn(told, tab_arena_printf(
                          a,
                          "left_out: %zu column%s of `%.*s` differ%s between the rows to predict and "
                          "the others and %s not made (`%s`: median %.4g, of the others %.4g)",
                          s->columns, s->columns == 1 ? "" : "s", TAB_STR(id), s->columns == 1 ? "s" : "",
                          s->columns == 1 ? "was" : "were", s->name, s->middle[1], s->middle[0]));
}

static bool tell(tab_arena *a, look *k, const tab_link_set *s, tab_link_told *told, bool *ret_later)
{
    const tab_links *l = k->l;
    size_t rows = l->p[k->table]->table->rows, read = 0;
    Tabella__LinkedTable *m = tab_message(a, Tabella__LinkedTable, TABELLA__LINKED_TABLE__INIT);
    if (m == NULL)
        return false;
    m->table = (uint32_t)k->table;
    for (size_t r = 0; r < rows; r++) {
        m->rows_used += k->used[r];
        m->rows_left_out += k->linked[r] && !k->used[r];
    }
    for (size_t i = 0; s != NULL && i < s->n; i++)
        read += s->feature[i]->table == k->table;
    bool later = l->moments == 0 && l->as_of == TAB_AS_OF_EVIDENCE && has_time(l, k->way) && k->way->own &&
                 k->way->downs > 0 && other_date(l) < l->p[l->table]->table->cols;
    if (k->way->cut && !k->way->absent)
        m->as_of = tab_column_ref(a, l->p[l->table]->table, (uint32_t)l->table, first_moment(l));
    const char *because = why(a, k, later);
    m->reason =
        k->way->absent ? tab_text(because)
        : read == 0
            ? tab_arena_printf(a, "%s; none of its columns relates significantly to the target", because)
            : tab_arena_printf(a, "%s; %zu column%s made from it", because, read,
                               read == 1 ? " is" : "s are");
    told->table[told->tables++] = m;
    return because != NULL && m->reason != NULL && doubt(a, k, m, read, later, told, ret_later);
}

/* The tables whose rows are read though they came after a date, in one sentence. */
static bool doubt_later(tab_arena *a, const tab_links *l, const bool *later, tab_link_told *told)
{
    char *which = NULL;
    for (size_t i = 0; i < told->tables; i++) {
        tab_str id = table_name(l, told->table[i]->table);
        if (later[i])
            which = which == NULL ? tab_arena_printf(a, "`%.*s`", TAB_STR(id))
                                  : tab_arena_printf(a, "%s, `%.*s`", which, TAB_STR(id));
    }
    return which == NULL ||
           warn(told,
                tab_arena_printf(
                    a,
                    "later_rows: rows of %s later than %s are used; if that is the time as of which rows are "
                    "predicted, name it in `options.as_of`",
                    which, date_name(a, l, other_date(l))));
}

tab_status tab_links_tell(const tab_engine *e, const tab_links *l, const tab_link_set *s, tab_link_told *ret,
                          tab_error *err)
{
    tab_arena *a = e->arena;
    TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)4 << 30);
    const tab_profile *p = l->p[l->table];
    bool *later = work == NULL ? NULL : tab_arena_new_of(work, bool, l->n + 1);
    double **date = work == NULL ? NULL : tab_arena_new_of(work, double *, p->table->cols + 1);
    *ret = (tab_link_told){ .table = tab_arena_new_of(a, Tabella__LinkedTable *, l->n + 1),
                            .warning = tab_arena_new_of(a, char *, 2 * l->n + 2) };
    if (date == NULL || later == NULL || ret->table == NULL || ret->warning == NULL)
        return tab_no_memory(err);
    for (size_t c = 0; c < p->table->cols; c++)
        date[c] = (double *)(uintptr_t)p->col[c].number;
    for (size_t t = 0; t < l->n; t++) {
        look k = { .l = l, .table = t };
        size_t rows = l->p[t]->table->rows;
        k.linked = tab_arena_new_of(work, bool, rows + 1);
        k.used = tab_arena_new_of(work, bool, rows + 1);
        if (tab_arena_full(work))
            return tab_no_memory(err);
        for (size_t i = 0; i < l->ways; i++) {
            const tab_way *w = &l->way[i];
            if (tab_way_end(w) != t)
                continue;
            if (k.way == NULL || (k.way->absent && !w->absent))
                k.way = w;
            if (w->downs == 0)
                single(&k, w, date);
            else if (!many(work, &k, w, date))
                return tab_no_memory(err);
        }
        if (k.way != NULL && !tell(a, &k, s, ret, &later[ret->tables]))
            return tab_no_memory(err);
    }
    return doubt_later(a, l, later, ret) ? TAB_OK : tab_no_memory(err);
}

bool tab_links_doubt(tab_arena *a, const tab_link_set *s, const tab_table *wide, Tabella__Prediction *m)
{
    Tabella__Results *r = m->results;
    size_t own = wide->cols - s->n, marked = 0;
    uint32_t *doubt = tab_arena_new_of(a, uint32_t, wide->rows + 1);
    char **sentence = tab_arena_new_of(a, char *, m->n_doubts + 2);
    if (doubt == NULL || sentence == NULL)
        return false;
    assert(r->n_row == wide->rows);
    for (size_t i = 0; i < wide->rows; i++) {
        bool known = false;
        for (size_t k = 0; !known && k < s->n; k++)
            known = tab_cell_at(&wide->col[own + k], i).kind != TAB_CELL_NULL;
        doubt[i] = i < r->n_doubt ? r->doubt[i] : 0;
        if (known || doubt[i] != 0)
            continue;
        doubt[i] = (uint32_t)m->n_doubts + 1;
        marked++;
    }
    if (marked == 0)
        return true;
    for (size_t i = 0; i < m->n_doubts; i++)
        sentence[i] = m->doubts[i];
    sentence[m->n_doubts] = tab_text(
        "the linked tables have nothing for this row, unlike for the rows used in fitting; it is predicted "
        "from its own columns alone");
    m->doubts = sentence;
    m->n_doubts++;
    r->doubt = doubt;
    r->n_doubt = wide->rows;
    return true;
}
