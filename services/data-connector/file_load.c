/* An uploaded file, in the process that reads it: mapped, so that its bytes are the page cache's, and given
 * on as tables in pieces (reader.c). See child.h. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "services/data-connector/child.h"
#include "services/data-connector/data.h"

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

/* Its sheet of this name alone; the name that its only table shall have. */
static tab_status choose(const Tabella__SourceTask *t, tab_arena *a, tab_file *f, tab_error *err)
{
    tab_str sheet = tab_str_of(t->source->sheet);
    if (sheet.n > 0) {
        size_t i = 0;
        while (i < f->n && !tab_str_eq(f->sheet[i], sheet))
            i++;
        if (i == f->n)
            return tab_fail(err, TAB_VALIDATION, "options.sheet",
                            "the file has no visible sheet of this name");
        f->table += i;
        f->sheet += i;
        f->n = 1;
    }
    if (t->table_name[0] == '\0')
        return TAB_OK;
    if (f->n > 1)
        return tab_fail(
            err, TAB_VALIDATION, "name",
            "the file holds %zu tables, which keep their names; leave `name` out, or choose a sheet", f->n);
    tab_table *named = tab_arena_new_of(a, tab_table, 1);
    if (named == NULL)
        return tab_no_memory(err);
    *named = *f->table[0];
    named->id = tab_str_of(t->table_name);
    f->table[0] = named;
    return TAB_OK;
}

tab_status child_file(tab_arena *a, const Tabella__SourceTask *t, tab_file *ret, tab_error *err)
{
    const tab_file_limits most = { (uint64_t)t->read_mib << 20, DATA_MOST_CELLS, DATA_MOST_COLS, 64, false };
    tab_str bytes = mapped(t->file_bytes);
    if (bytes.p == NULL)
        return tab_fail(err, TAB_UNAVAILABLE, "", "the file cannot be opened; try again");
    tab_status s = tab_file_read(a, tab_str_of(t->file_name), bytes, &most, ret, err);
    if (s == TAB_VALIDATION)
        snprintf(err->param, sizeof err->param, "file");
    TAB_TRY(s);
    return choose(t, a, ret, err);
}
