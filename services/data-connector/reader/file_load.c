/* An uploaded file, in the process that reads it: mapped, so that its bytes are the page cache's, and given
 * on as tables in pieces (reader.c). See child.h. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/json/json.h"
#include "services/data-connector/data.h"
#include "services/data-connector/providers/file_table.h"
#include "services/data-connector/reader/child.h"

/* The file at CHILD_FILE with a zero behind it, which lies on a page of its own where the file fills its last
 * one. p NULL: it cannot be mapped. */
static tab_str mapped(uint64_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = (size_t)(n / page + 1) * page;
    char *p = mmap(NULL, all, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED ||
        mmap(p, (size_t)n, PROT_READ, MAP_PRIVATE | MAP_FIXED, CHILD_FILE, 0) == MAP_FAILED)
        return (tab_str){ NULL, 0 };
    return (tab_str){ p, (size_t)n };
}

/* The name that its only table shall have, and with which those of several begin: NAME_SHEET. */
static tab_status named_so(const char *name, tab_arena *a, tab_file *f, tab_error *err)
{
    enum { NAME_MOST = 128 };
    for (size_t i = 0; i < f->n; i++) {
        tab_table *named = tab_arena_new_of(a, tab_table, 1);
        if (named == NULL)
            return tab_no_memory(err);
        *named = *f->table[i];
        tab_str part = f->sheet[i].n > 0 ? f->sheet[i] : f->table[i]->id;
        for (size_t k = 0; k < f->n; k++)
            if (k != i && tab_str_eq(part, f->sheet[k]))
                part = f->table[i]->id; /* sheets of one name, of two workbooks */
        named->id = tab_str_of(name);
        if (f->n > 1) {
            named->id = tab_str_of(tab_arena_printf(a, "%s_%.*s", name, (int)part.n, part.p));
            named->id.n = named->id.n < NAME_MOST ? named->id.n : NAME_MOST;
            while (named->id.p != NULL && !tab_utf8_valid(named->id))
                named->id.n--; /* cut within a letter */
            named->id = tab_arena_copy(a, named->id);
        }
        if (named->id.p == NULL)
            return tab_no_memory(err);
        f->table[i] = named;
    }
    return TAB_OK;
}

/* Its sheet of this name alone, or all; and their names. */
static tab_status choose(const Tabella__SourceTask *t, tab_arena *a, tab_file *f, tab_error *err)
{
    tab_str sheet = tab_str_of(t->source->sheet);
    if (sheet.n > 0) {
        size_t i = 0;
        while (i < f->n && !tab_str_eq(f->sheet[i], sheet))
            i++;
        if (i == f->n)
            return tab_fail(err, TAB_VALIDATION, "options.sheet",
                            "the file has no visible sheet with this name");
        f->table += i;
        f->sheet += i;
        f->reading += i;
        f->n = 1;
    }
    return t->table_name[0] == '\0' ? TAB_OK : named_so(t->table_name, a, f, err);
}

tab_status child_file(tab_arena *a, const Tabella__SourceTask *t, tab_file *ret, tab_error *err)
{
    const tab_file_limits most = {
        (uint64_t)t->read_mib << 20, DATA_MOST_CELLS, DATA_MOST_COLS, 64, false, false
    };
    tab_str bytes = mapped(t->file_bytes);
    if (bytes.p == NULL)
        return tab_fail(err, TAB_UNAVAILABLE, "", "the file cannot be opened; try again");
    static const atomic_bool never;
    const source from = { .sheet = "", .deadline = tab_in_ms(t->left_ms), .cancel = &never };
    tab_reading_asked asked;
    TAB_TRY(tab_reading_ask_json(a, tab_str_of(t->source->reading), &asked, err));
    tab_status s = sqlite_is(bytes)
                       ? sqlite_tables(&from, a, bytes, most.tables, ret, err)
                       : tab_file_read_as(a, tab_str_of(t->file_name), bytes, &most, &asked, ret, err);
    if (s == TAB_VALIDATION && (err->param[0] == '\0' || sqlite_is(bytes))) /* which calls it its source */
        snprintf(err->param, sizeof err->param, "file");
    TAB_TRY(s);
    return choose(t, a, ret, err);
}
