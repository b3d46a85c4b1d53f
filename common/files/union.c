/* See union.h. */
#include "common/files/union.h"

#include "common/json/json.h"

/* The union's column for column k of t: the one of its name, where t has the name once; the n-th of it
 * for the n-th. */
static size_t place(const tab_str *names, size_t n, const tab_table *t, size_t k)
{
    size_t nth = 0;
    for (size_t i = 0; i < k; i++)
        nth += tab_str_eq(t->col[i].name, t->col[k].name);
    for (size_t i = 0; i < n; i++)
        if (tab_str_eq(names[i], t->col[k].name) && nth-- == 0)
            return i;
    return n;
}

static tab_status append(tab_arena *a, tab_builder *b, const tab_column *c, size_t before, size_t rows,
                         tab_error *err)
{
    uint32_t *known = tab_arena_new_of(a, uint32_t, c->levels + 1);
    if (known == NULL)
        return tab_no_memory(err);
    tab_builder_pad(b, before);
    for (size_t i = 0; i < rows; i++)
        tab_builder_copy(b, c, i, known);
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status tab_tables_union(tab_arena *a, const tab_table *const *t, size_t n, tab_str id, size_t cols_most,
                            uint64_t cells_most, const tab_table **ret, tab_error *err)
{
    tab_str *names = tab_arena_new_of(a, tab_str, cols_most);
    tab_builder **b = tab_arena_new_of(a, tab_builder *, cols_most);
    tab_table *all = tab_arena_new_of(a, tab_table, 1);
    size_t cols = 0, rows = 0;
    if (names == NULL || b == NULL || all == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < t[i]->cols; k++) {
            size_t at = place(names, cols, t[i], k);
            if (at == cols_most)
                return tab_fail(err, TAB_VALIDATION, "", "The files have more than %zu columns in total.",
                                cols_most);
            if (at == cols) {
                names[cols] = t[i]->col[k].name;
                if ((b[cols] = tab_builder_new(a, names[cols])) == NULL)
                    return tab_no_memory(err);
                cols++;
            }
            TAB_TRY(append(a, b[at], &t[i]->col[k], rows, t[i]->rows, err));
        }
        rows += t[i]->rows;
        if (cols > 0 && rows > cells_most / cols)
            return tab_fail(err, TAB_VALIDATION, "", "A table can have at most %llu cells.",
                            (unsigned long long)cells_most);
    }
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    for (size_t k = 0; k < cols; k++) {
        tab_builder_pad(b[k], rows);
        if (col == NULL || !tab_builder_finish(b[k], &col[k]))
            return tab_no_memory(err);
    }
    *all = (tab_table){ .id = id, .rows = rows, .cols = cols, .col = col };
    *ret = all;
    return TAB_OK;
}

/* Has t the names of u, each once, in any order? */
static bool same_names(const tab_table *t, const tab_table *u)
{
    if (t->cols != u->cols)
        return false;
    for (size_t k = 0; k < t->cols; k++) {
        size_t there = 0, own = 0;
        for (size_t i = 0; i < t->cols; i++) {
            there += tab_str_eq(t->col[k].name, u->col[i].name);
            own += tab_str_eq(t->col[k].name, t->col[i].name);
        }
        if (there != 1 || own != 1 || t->col[k].name.n == 0)
            return false;
    }
    return true;
}

/* What their ids begin with in common, without digits and signs at its end. */
static tab_str common_name(const tab_table *const *t, const size_t *at, size_t n)
{
    tab_str s = t[at[0]]->id;
    for (size_t i = 1; i < n; i++) {
        tab_str x = t[at[i]]->id;
        size_t k = 0;
        while (k < s.n && k < x.n && s.p[k] == x.p[k])
            k++;
        s.n = k;
    }
    while (s.n > 0 && ((s.p[s.n - 1] >= '0' && s.p[s.n - 1] <= '9') || strchr(" _-.(", s.p[s.n - 1]) != NULL))
        s.n--;
    while (s.n > 0 && !tab_utf8_valid(s))
        s.n--;
    return s;
}

/* The table with a column more, which says its id in each row. */
static tab_status with_source(tab_arena *a, const tab_table *t, const char *name, const tab_table **ret,
                              tab_error *err)
{
    tab_table *own = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols + 1);
    tab_builder *b = tab_builder_new(a, tab_str_of(name));
    if (own == NULL || col == NULL || b == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < t->rows; i++)
        tab_builder_text(b, t->id);
    if (!tab_builder_finish(b, &col[t->cols]))
        return tab_no_memory(err);
    memcpy(col, t->col, t->cols * sizeof *col);
    *own = *t;
    own->col = col;
    own->cols = t->cols + 1;
    *ret = own;
    return TAB_OK;
}

/* A name for the source that none of the columns has. */
static const char *source_name(const tab_table *t)
{
    static const char *const names[] = { "file", "source_file", "source_file_" };
    for (size_t i = 0; i + 1 < sizeof names / sizeof *names; i++) {
        bool taken = false;
        for (size_t k = 0; k < t->cols; k++)
            taken = taken || tab_str_eq(t->col[k].name, tab_str_of(names[i]));
        if (!taken)
            return names[i];
    }
    return names[2];
}

tab_status tab_tables_stack(tab_arena *a, const tab_table **t, size_t *n, tab_str folder, size_t cols,
                            uint64_t cells, tab_stacked *ret, tab_error *err)
{
    size_t *at = tab_arena_new_of(a, size_t, *n + 1), left = 0;
    const tab_table **same = tab_arena_new_of(a, const tab_table *, *n + 1);
    if (at == NULL || same == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < *n; i++) {
        size_t found = 0;
        if (t[i] == NULL)
            continue;
        for (size_t k = i; k < *n; k++)
            if (t[k] != NULL && same_names(t[i], t[k]))
                at[found++] = k;
        const tab_table *one = t[i];
        size_t files = 1;
        if (found > 1) {
            const char *name = source_name(t[i]);
            tab_str id = common_name(t, at, found);
            for (size_t k = 0; k < found; k++)
                TAB_TRY(with_source(a, t[at[k]], name, &same[k], err));
            TAB_TRY(tab_tables_union(a, same, found, id.n > 1 ? id : folder, cols, cells, &one, err));
            files = found;
            for (size_t k = 0; k < found; k++)
                t[at[k]] = NULL;
        }
        t[i] = NULL;
        ret[left] = (tab_stacked){ files, i };
        t[left++] = one; /* left <= i: that place is done */
    }
    *n = left;
    return TAB_OK;
}
