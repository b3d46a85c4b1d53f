/* See columns.h. */
#include "services/jobs/columns.h"

#include <stdio.h>

/* "`a`, `b` and 3 more" */
static void some(char *const *name, size_t n, char ret[120])
{
    enum { NAMED = 3, LONGEST = 24 };
    size_t at = 0;
    ret[0] = 0;
    for (size_t i = 0; i < n && i < NAMED; i++) {
        size_t m = strnlen(name[i], LONGEST);
        while (m > 0 && ((unsigned char)name[i][m] & 0xc0) == 0x80)
            m--; /* within a letter */
        at += (size_t)snprintf(ret + at, 120 - at, "%s`%.*s`", i > 0 ? ", " : "", (int)m, name[i]);
    }
    if (n > NAMED)
        snprintf(ret + at, 120 - at, " and %zu more", n - NAMED);
}

/* The name of the column that e predicts, where it is one of this table's; "" else. */
static tab_str target_in(const Tabella__Endpoint *e, const char *table)
{
    const Tabella__ColumnRef *t = e->held_out == NULL ? NULL : e->held_out->target;
    size_t n = strlen(table);
    if (t == NULL || t->address.len <= n + 1 || memcmp(t->address.data, table, n) != 0 ||
        t->address.data[n] != '.')
        return TAB_S("");
    return (tab_str){ (const char *)t->address.data + n + 1, t->address.len - n - 1 };
}

tab_status columns_accepted(const Tabella__SchemaChange *x, const Tabella__Endpoint *e, bool accept,
                            tab_error *err)
{
    char gone[120], added[120];
    tab_str target = target_in(e, x->name);
    some(x->removed, x->n_removed, gone);
    some(x->added, x->n_added, added);
    for (size_t i = 0; i < x->n_removed; i++)
        if (target.n > 0 && tab_str_eq(target, tab_str_of(x->removed[i])))
            return tab_fail(err, TAB_VALIDATION, "",
                            "%.60s no longer has the column `%.60s`, which the endpoint predicts%s%s",
                            x->name, x->removed[i], added[0] != 0 ? "; new: " : "", added);
    if (x->n_removed == 0 || accept)
        return TAB_OK;
    return tab_fail(
        err, TAB_VALIDATION, "",
        "columns that callers send no longer exist: %s%s%s; refresh with accept_schema: true if that is "
        "intended",
        gone, added[0] != 0 ? "; new: " : "", added);
}
