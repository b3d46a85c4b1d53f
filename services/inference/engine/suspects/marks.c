/* Marks that the profile does not know: one number that lies far out in several columns (99 for "no
 * answer"), and a few letters in place of numbers in several (AB for "absent"). A person meant them.
 * Decision 0836. */
#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/suspects/given.h"

enum { COLUMNS = 3, CELLS = 2, LETTERS = 4, TEXTS = 5 };

/* A candidate's cell: its number, or the hash of its letters. */
typedef struct {
    double number;
    uint64_t text;
    uint32_t column;
} marked;

static int by_value(const void *a, const void *b)
{
    const marked *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->text != y->text)
        return x->text < y->text ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* The cell's text; n = 0: there is none. */
static tab_str text_of(const tab_seen *v, size_t row)
{
    bool known = v->code != NULL && v->code[row] != TAB_NULL;
    return known ? v->text[v->code[row]] : (tab_str){ NULL, 0 };
}

static bool is_letters(tab_str t)
{
    for (size_t i = 0; i < t.n; i++)
        if (!((t.p[i] >= 'a' && t.p[i] <= 'z') || (t.p[i] >= 'A' && t.p[i] <= 'Z')))
            return false;
    return t.n > 0 && t.n <= LETTERS;
}

/* Whether the candidate's cell may be a mark; *ret: it. */
static bool may_be_mark(const tab_search *s, const tab_suspect *c, marked *ret)
{
    const tab_seen *v = &s->seen[c->column];
    bool out = c->kind == TAB_SUSPECT_RANGE || c->kind == TAB_SUSPECT_OUTLIER;
    *ret = (marked){ .column = c->column };
    if (v->num == NULL || v->col->type != TAB_NUMERIC)
        return false;
    if (out)
        ret->number = v->num[c->row];
    else if (c->kind == TAB_SUSPECT_FORMAT && v->num[c->row] != v->num[c->row] &&
             is_letters(text_of(v, c->row)))
        ret->text = tab_fnv1a(TAB_FNV1A, text_of(v, c->row).p, text_of(v, c->row).n);
    return ret->number != 0 || ret->text != 0;
}

/* The marks of m (n, by value) go to its front; how many. out: what lies out in each column. */
static size_t marks_among(marked *m, size_t n, const uint32_t *out)
{
    size_t marks = 0;
    for (size_t i = 0, k; i < n; i = k) {
        size_t columns = 0, all = 0;
        for (k = i; k < n && m[k].number == m[i].number && m[k].text == m[i].text; k++)
            if (k == i || m[k].column != m[k - 1].column)
                columns++, all += out[m[k].column];
        bool often = m[i].text != 0 ? k - i >= TEXTS : k - i >= CELLS * columns && 2 * (k - i) >= all;
        if (columns >= COLUMNS && often)
            m[marks++] = m[i];
    }
    return marks;
}

static bool is_among(const marked *m, size_t marks, const marked *x)
{
    for (size_t k = 0; k < marks; k++)
        if (m[k].number == x->number && m[k].text == x->text)
            return true;
    return false;
}

bool tab_suspects_drop_marks(tab_search *s)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    marked *m = a == NULL ? NULL : tab_arena_new_of(a, marked, s->n + 1), x;
    uint32_t *out = a == NULL ? NULL : tab_arena_new_of(a, uint32_t, s->p->table->cols + 1);
    size_t n = 0, left = 0;
    if (m == NULL || out == NULL)
        return false;
    for (size_t i = 0; i < s->n; i++)
        if (may_be_mark(s, &s->found[i], &x)) {
            out[x.column] += x.text == 0;
            m[n++] = x;
        }
    if (n > 0)
        qsort(m, n, sizeof *m, by_value);
    size_t marks = marks_among(m, n, out);
    for (size_t i = 0; marks > 0 && i < s->n; i++)
        if (!may_be_mark(s, &s->found[i], &x) || !is_among(m, marks, &x))
            s->found[left++] = s->found[i];
    s->n = marks > 0 ? left : s->n;
    return true;
}
