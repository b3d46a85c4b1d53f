/* Cells of a row that stand in columns where they are strange, by their forms, and would be at home in
 * others:
 *
 *   exchanged   each of two cells in the other's column: a town among postcodes, and a postcode among towns
 *   shifted     two and more neighbours, each in the column before its own or behind it, as when a line lost
 *               a field
 *   copied      a cell that is also the row's cell of the column where it is at home
 *
 * Strange is a form that RARE of the column's cells have at most, also where runs of digits count as one
 * (other numbers are no other form), at home one that HOME of them have at least.
 * One such cell proves nothing. But were they independent of each other, cells that are so in k columns
 * would meet in rows x product(share of each) rows; the odds of a pattern are the rows that show it to
 * those, divided by the patterns that were met, at most ODDS. Below LEAST nothing is said. Values need not
 * be known (swapped.c looks for these). A copy is looked for in a column of which ONE_FORM have one rough
 * form, and is at home by that; chance makes as many as the row's other cell equals cells that are not
 * strange. Decisions 0881, 0914. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/suspects/parts.h"

enum { FORMS = 4096, LEAST_SHIFTED = 2 };
typedef enum { EXCHANGED, SHIFTED, COPIED } how;
_Static_assert(TAB_SUSPECT_COLUMNS <= 64, "");
static const double RARE = 0.05, HOME = 0.2, ONE_FORM = 0.95, ODDS = 20, LEAST = 3;

typedef struct {
    uint64_t form;
    size_t cells;
} shape;

/* A column by its forms. */
typedef struct {
    const tab_seen *v; /* NULL: it takes no part */
    shape *shape;      /* (n) by exact form */
    shape *rough;      /* (roughs) by form; none of a column of more than FORMS */
    size_t n, roughs;
    uint64_t *at_home; /* (levels) of a strange level, one bit for each column where it would be at home */
    uint64_t *alike;   /* (levels) the same by rough forms */
} shaped;

typedef struct {
    tab_search *s;
    size_t cols;
    shaped *of;                                                /* (cols) */
    uint32_t n[TAB_SUSPECT_COLUMNS][TAB_SUSPECT_COLUMNS];      /* cells of a column at home in another */
    uint32_t both[TAB_SUSPECT_COLUMNS][TAB_SUSPECT_COLUMNS];   /* rows: exchanged, the lesser column first */
    uint32_t run[2][TAB_SUSPECT_COLUMNS][TAB_SUSPECT_COLUMNS]; /* rows: shifted, first and last column */
    uint32_t alike[TAB_SUSPECT_COLUMNS][TAB_SUSPECT_COLUMNS];  /* as n, by rough forms */
    uint32_t copied[TAB_SUSPECT_COLUMNS][TAB_SUSPECT_COLUMNS]; /* of these rows: the other cell is the same */
    size_t patterns;
    bool strange; /* there is any such cell */
} misplaced;

static int by_form(const void *a, const void *b)
{
    const shape *x = a, *y = b;
    return (x->form > y->form) - (x->form < y->form);
}

/* The column's forms with their cells. False: memory ran out. */
static bool forms_of(tab_search *s, const tab_seen *v, bool exact, shape **ret, size_t *ret_n)
{
    shape *f = tab_arena_new_of(s->scratch, shape, v->levels + 1);
    size_t n = 0;
    if (f == NULL)
        return false;
    for (size_t l = 0; l < v->levels; l++)
        f[l] = (shape){ tab_suspects_form(v->text[l], exact), v->count[l] };
    qsort(f, v->levels, sizeof *f, by_form);
    for (size_t l = 0; l < v->levels; l++)
        if (n > 0 && f[n - 1].form == f[l].form)
            f[n - 1].cells += f[l].cells;
        else
            f[n++] = f[l];
    *ret = f;
    *ret_n = n;
    return true;
}

/* False: memory ran out. */
static bool shape_column(tab_search *s, const tab_seen *v, shaped *ret)
{
    *ret = (shaped){ .v = v,
                     .at_home = tab_arena_new_of(s->scratch, uint64_t, v->levels + 1),
                     .alike = tab_arena_new_of(s->scratch, uint64_t, v->levels + 1) };
    return ret->at_home != NULL && ret->alike != NULL && forms_of(s, v, true, &ret->shape, &ret->n) &&
           (ret->n > FORMS || forms_of(s, v, false, &ret->rough, &ret->roughs));
}

/* The share of the column's cells that have this form, of n. */
static double share(const shaped *c, const shape *of, size_t n, uint64_t form)
{
    shape key = { form, 0 };
    const shape *f = bsearch(&key, of, n, sizeof key, by_form);
    return f == NULL ? 0 : (double)f->cells / (double)c->v->present;
}

/* Whether digits stand with other signs in it, and it is no number: words and numbers are the same by
 * chance, or one stands in for the other. */
static bool is_compound(tab_str t)
{
    bool digit = false;
    size_t n;
    double x;
    for (size_t i = 0; i < t.n; i++)
        digit |= t.p[i] >= '0' && t.p[i] <= '9';
    return digit && (tab_number_read(t.p, t.p + t.n, &n, &x) == TAB_NUMBER_NONE || n != t.n);
}

/* Which strange levels of a column would be at home elsewhere. */
static void look_for_homes(misplaced *m, size_t column)
{
    shaped *c = &m->of[column];
    size_t most = 0;
    for (size_t i = 0; c->n <= FORMS && i < c->roughs; i++)
        most = c->rough[i].cells > most ? c->rough[i].cells : most;
    bool of_one_form = (double)most >= ONE_FORM * (double)c->v->present;
    for (size_t l = 0; c->n <= FORMS && l < c->v->levels; l++) {
        tab_str t = c->v->text[l];
        uint64_t form = tab_suspects_form(t, true), rough = tab_suspects_form(t, false);
        if (t.n == 0 || share(c, c->shape, c->n, form) > RARE || share(c, c->rough, c->roughs, rough) > RARE)
            continue;
        for (size_t d = 0; d < m->cols; d++) {
            const shaped *o = &m->of[d];
            if (d == column || o->v == NULL)
                continue;
            if (share(o, o->shape, o->n, form) >= HOME)
                c->at_home[l] |= (uint64_t)1 << d, m->strange = true;
            if (of_one_form && is_compound(t) && o->n <= FORMS &&
                share(o, o->rough, o->roughs, rough) >= HOME)
                c->alike[l] |= (uint64_t)1 << d, m->strange = true;
        }
    }
}

/* Where the cell would be at home; 0: it is not strange, or nowhere. */
static uint64_t homes(const misplaced *m, size_t row, size_t column)
{
    const shaped *c = &m->of[column];
    uint32_t l = c->v == NULL ? TAB_NULL : c->v->code[row];
    return l == TAB_NULL ? 0 : c->at_home[l];
}

static bool is_at_home(const misplaced *m, size_t row, size_t column, size_t other)
{
    return (homes(m, row, column) >> other & 1) != 0;
}

/* Whether the cell stands one column before its own (way 0), or behind it (way 1). */
static bool is_shifted(const misplaced *m, size_t row, size_t column, int way)
{
    if (way == 0 ? column + 1 >= m->cols : column == 0)
        return false;
    return is_at_home(m, row, column, way == 0 ? column + 1 : column - 1);
}

/* How many cells from `from` on are shifted so; 0: none, or the run begins before. */
static size_t run_at(const misplaced *m, size_t row, size_t from, int way)
{
    size_t n = 0;
    if (from > 0 && is_shifted(m, row, from - 1, way))
        return 0;
    while (from + n < m->cols && is_shifted(m, row, from + n, way))
        n++;
    return n;
}

static tab_str text_at(const misplaced *m, size_t row, size_t column)
{
    const tab_seen *v = m->of[column].v;
    return v == NULL || v->code[row] == TAB_NULL ? TAB_S("") : v->text[v->code[row]];
}

/* Where the cell would be by its rough form. */
static uint64_t like(const misplaced *m, size_t row, size_t column)
{
    const shaped *c = &m->of[column];
    uint32_t l = c->v == NULL ? TAB_NULL : c->v->code[row];
    return l == TAB_NULL ? 0 : c->alike[l];
}

static bool is_copy(const misplaced *m, size_t row, size_t column, size_t other)
{
    return (like(m, row, column) >> other & 1) != 0 &&
           tab_str_eq(text_at(m, row, column), text_at(m, row, other));
}

static void count(misplaced *m)
{
    for (size_t r = 0; r < m->s->rows; r++)
        for (size_t a = 0; a < m->cols; a++) {
            uint64_t of = homes(m, r, a), by_rough = like(m, r, a);
            for (size_t b = 0; by_rough != 0 && b < m->cols; b++) {
                m->alike[a][b] += by_rough >> b & 1;
                m->copied[a][b] += is_copy(m, r, a, b);
            }
            for (size_t b = 0; of != 0 && b < m->cols; b++) {
                bool there = (of >> b & 1) != 0;
                m->n[a][b] += there;
                m->both[a][b] += there && a < b && is_at_home(m, r, b, a);
            }
            for (int way = 0; of != 0 && way < 2; way++) {
                size_t n = run_at(m, r, a, way);
                if (n >= LEAST_SHIFTED)
                    m->run[way][a][a + n - 1]++;
            }
        }
    for (size_t a = 0; a < m->cols; a++)
        for (size_t b = 0; b < m->cols; b++)
            m->patterns +=
                (m->both[a][b] > 0) + (m->run[0][a][b] > 0) + (m->run[1][a][b] > 0) + (m->copied[a][b] > 0);
}

/* Odds of a pattern that so many rows show, beside those that chance makes. */
static double odds_of(const misplaced *m, double rows, double by_chance)
{
    return fmin(ODDS, rows / (by_chance * (double)m->patterns));
}

static double odds_of_run(const misplaced *m, size_t from, size_t n, int way)
{
    double rows = (double)m->s->rows, chance = rows;
    for (size_t c = from; c < from + n; c++)
        chance *= (double)m->n[c][way == 0 ? c + 1 : c - 1] / rows;
    return odds_of(m, m->run[way][from][from + n - 1], chance);
}

static void put(misplaced *m, size_t row, size_t column, size_t other, double odds, tab_str meant, how was)
{
    tab_suspect *c = odds < LEAST ? NULL : tab_suspects_add(m->s, row, column, TAB_SUSPECT_MISPLACED);
    if (c == NULL)
        return;
    c->f[0] = (float)log(odds);
    c->f[TAB_MISPLACED_SHIFTED] = was == SHIFTED;
    c->f[TAB_MISPLACED_COPIED] = was == COPIED;
    c->other = (uint32_t)other;
    c->suggestion = meant;
    c->of = (uint32_t)m->of[other].v->present;
}

/* Odds of copies of b in a: chance makes them as the row's cells are the same where they are not strange. */
static double odds_of_copies(const misplaced *m, size_t a, size_t b)
{
    double same = 1, rows = 2;
    for (size_t r = 0; r < m->s->rows; r++) {
        tab_str t = text_at(m, r, a);
        bool counts = t.n > 0 && like(m, r, a) == 0;
        rows += counts;
        same += counts && tab_str_eq(t, text_at(m, r, b));
    }
    return odds_of(m, m->copied[a][b], m->alike[a][b] * same / rows);
}

static void doubt_copies(misplaced *m)
{
    for (size_t a = 0; a < m->cols; a++)
        for (size_t b = 0; b < m->cols; b++) {
            double odds = m->copied[a][b] == 0 ? 0 : odds_of_copies(m, a, b);
            for (size_t r = 0; odds >= LEAST && r < m->s->rows && !m->s->failed; r++)
                if (is_copy(m, r, a, b))
                    put(m, r, a, b, odds, TAB_S(""), COPIED);
        }
}

static void doubt(misplaced *m, size_t row, size_t a)
{
    double rows = (double)m->s->rows;
    for (size_t b = a + 1; b < m->cols; b++)
        if (is_at_home(m, row, a, b) && is_at_home(m, row, b, a)) {
            double odds = odds_of(m, m->both[a][b], m->n[a][b] * (double)m->n[b][a] / rows);
            put(m, row, a, b, odds, text_at(m, row, b), EXCHANGED);
            put(m, row, b, a, odds, text_at(m, row, a), EXCHANGED);
        }
    for (int way = 0; way < 2; way++) {
        size_t n = run_at(m, row, a, way);
        for (size_t i = 0; n >= LEAST_SHIFTED && i < n; i++) {
            bool known = way == 0 ? i > 0 : i + 1 < n; /* what belongs here stands in the run as well */
            size_t own = way == 0 ? a + i + 1 : a + i - 1, from = way == 0 ? a + i - 1 : a + i + 1;
            put(m, row, a + i, own, odds_of_run(m, a, n, way), known ? text_at(m, row, from) : TAB_S(""),
                SHIFTED);
        }
    }
}

void tab_suspects_misplaced(tab_search *s)
{
    misplaced *m = tab_arena_new_of(s->scratch, misplaced, 1);
    size_t cols = s->p->table->cols < TAB_SUSPECT_COLUMNS ? s->p->table->cols : TAB_SUSPECT_COLUMNS;
    if (m == NULL || (m->of = tab_arena_new_of(s->scratch, shaped, cols + 1)) == NULL) {
        s->failed = true;
        return;
    }
    m->s = s;
    m->cols = cols;
    for (size_t c = 0; c < cols && !s->failed; c++)
        if (s->seen[c].code != NULL && s->seen[c].present >= TAB_SUSPECT_ROWS)
            s->failed = !shape_column(s, &s->seen[c], &m->of[c]);
    for (size_t c = 0; c < cols && !s->failed && !tab_engine_cancelled(s->e); c++)
        if (m->of[c].v != NULL)
            look_for_homes(m, c);
    if (s->failed || !m->strange || tab_engine_cancelled(s->e))
        return;
    count(m);
    for (size_t r = 0; m->patterns > 0 && r < s->rows && !s->failed; r++)
        for (size_t a = 0; a < cols; a++)
            if (homes(m, r, a) != 0)
                doubt(m, r, a);
    doubt_copies(m);
}
