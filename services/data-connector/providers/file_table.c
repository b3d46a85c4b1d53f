/* See file_table.h. */
#include "services/data-connector/providers/file_table.h"

#include <stdio.h>

#include "common/files/files.h"
#include "common/files/union.h"
#include "services/data-connector/data.h"

/* Of several files of one table the first one's reading is said. */
static tab_status take(const source *s, const tab_file *f, size_t i, const tab_table **ret)
{
    *ret = f->table[i];
    if (s->read->n == 0)
        *s->read = f->reading[i];
    return TAB_OK;
}

static tab_status choose(const source *s, const tab_file *f, const tab_table **ret, tab_error *err)
{
    char all[200] = "";
    if (s->sheet[0] == '\0' && f->n == 1)
        return take(s, f, 0, ret);
    for (size_t i = 0; i < f->n; i++) {
        tab_str name = f->sheet[i].n > 0 ? f->sheet[i] : f->table[i]->id;
        size_t n = strlen(all);
        if (s->sheet[0] != '\0' && tab_str_eq(name, tab_str_of(s->sheet)))
            return take(s, f, i, ret);
        snprintf(all + n, sizeof all - n, "%s%.*s", n > 0 ? ", " : "", (int)(name.n < 40 ? name.n : 40),
                 name.p);
    }
    return s->sheet[0] != '\0'
               ? tab_fail(err, TAB_VALIDATION, "options.sheet",
                          "The file has no such table; its tables are %s.", all)
               : tab_fail(
                     err, TAB_VALIDATION, "options.sheet",
                     "The file holds %zu tables and a connection reads one; choose it with `sheet` from %s.",
                     f->n, all);
}

tab_status file_table(const source *s, tab_arena *a, tab_str name, tab_str bytes, const tab_table **ret,
                      tab_error *err)
{
    const tab_file_limits most = { (uint64_t)s->read_mib << 20, DATA_MOST_CELLS, DATA_MOST_COLS, 64, false,
                                   s->sheet[0] == '\0' };
    tab_reading_asked asked;
    tab_file f;
    if (sqlite_is(bytes) && s->reading[0] != '\0')
        return tab_fail(err, TAB_VALIDATION, "options.reading",
                        "`options.reading` does not apply to SQLite databases; leave it out");
    if (sqlite_is(bytes)) {
        *s->read = TAB_S("{\"format\":\"sqlite\",\"skipped\":[]}");
        return sqlite_table(s, a, bytes, name, ret, err);
    }
    TAB_TRY(tab_reading_ask_json(a, tab_str_of(s->reading), &asked, err));
    tab_status st = tab_file_read_as(a, name, bytes, &most, &asked, &f, err);
    if (st == TAB_VALIDATION && err != NULL && err->param[0] == '\0')
        snprintf(err->param, sizeof err->param, "source");
    TAB_TRY(st);
    if (f.notes.n > 0)
        *s->notes = f.notes;
    return choose(s, &f, ret, err);
}

bool name_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    while (*name != '\0')
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool key_matches(const char *folder, const char *pattern, const char *key)
{
    size_t n = strlen(folder);
    return key != NULL && strncmp(key, folder, n) == 0 && key[n] != '\0' && name_matches(pattern, key + n);
}

tab_status tables_union(tab_arena *a, const tab_table *const *t, size_t n, tab_str id, const tab_table **ret,
                        tab_error *err)
{
    tab_status st = tab_tables_union(a, t, n, id, DATA_MOST_COLS, DATA_MOST_CELLS, ret, err);
    if (st == TAB_VALIDATION && err != NULL)
        snprintf(err->param, sizeof err->param, "source");
    return st;
}
