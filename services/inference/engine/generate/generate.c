/* See generate.h: opening a sector's plan, its tables as wholes. */
#include "services/inference/engine/generate/generate.h"

#include <math.h>
#include <string.h>

#include "services/inference/engine/generate/plan.h"
#include "services/inference/engine/sector/sectors.h"

/* lists.txt and sectors/SLUG.txt, each behind a line "=NAME" (services/module.mk writes them so). */
__asm__(".section .rodata\n"
        ".global tab_generate_plans\n"
        ".hidden tab_generate_plans\n"
        "tab_generate_plans:\n"
        ".incbin \"build/gen/generate.txt\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char tab_generate_plans[] __attribute__((visibility("hidden")));

static tab_str find_text(const char *name)
{
    size_t n = strlen(name);
    for (const char *p = tab_generate_plans; (p = strstr(p, "\n=")) != NULL; p += 2)
        if (strncmp(p + 2, name, n) == 0 && p[2 + n] == '\n') {
            const char *from = p + 3 + n, *end = strstr(from, "\n=");
            return (tab_str){ from, end == NULL ? strlen(from) : (size_t)(end - from) };
        }
    return (tab_str){ NULL, 0 };
}

/* Organizations are of one country each, as names, places and numbers of telephones go. */
static tab_str country_of(uint64_t seed)
{
    static const char *const names[] = { "us", "us", "us", "gb", "de", "fr", "es" };
    return tab_str_of(names[generate_hash(seed, 1) % (sizeof names / sizeof *names)]);
}

static tab_status open_plan(tab_arena *a, const char *slug, uint64_t rows, uint64_t seed, tab_generator **ret,
                            tab_error *err)
{
    tab_generator *g = tab_arena_new_of(a, tab_generator, 1);
    tab_str text = find_text(slug), lists = find_text("lists");
    if (g == NULL)
        return tab_no_memory(err);
    if (text.p == NULL || lists.p == NULL)
        return tab_fail(err, TAB_INTERNAL, "sector", "the plan of %s is not there", slug);
    g->a = a;
    g->country = country_of(seed);
    g->seed = generate_key(seed, tab_str_of(slug), 0);
    TAB_TRY(plan_read(g, lists, text, err));
    TAB_TRY(plan_finish(g, rows, err));
    *ret = g;
    return TAB_OK;
}

tab_status tab_generate_open(tab_arena *a, tab_str sector, uint64_t rows, uint64_t seed, tab_generator **ret,
                             tab_error *err)
{
    enum { FITTED_ON = 4096 };
    int i = tab_sector_of(sector);
    tab_generator *g = NULL, *fit = NULL;
    if (i < 0)
        return tab_fail(
            err, TAB_VALIDATION, "sector",
            "sector `%.*s` does not exist; use one of the 25 names or slugs that the `sector` of a run can "
            "have, such as `retail` or `banking`",
            (int)(sector.n < 40 ? sector.n : 40), sector.p);
    if (rows < 1 || rows > TAB_GENERATE_MOST_ROWS)
        return tab_fail(err, TAB_VALIDATION, "rows", "`rows` must be a number from 1 to %llu",
                        (unsigned long long)TAB_GENERATE_MOST_ROWS);
    /* Strengths are fitted on other rows, always the same: what is stated does not depend on the seed. */
    TAB_TRY(open_plan(a, tab_sectors[i].slug, FITTED_ON, 329, &fit, err));
    TAB_TRY(strength_fit(fit, err));
    TAB_TRY(open_plan(a, tab_sectors[i].slug, rows, seed, &g, err));
    for (size_t t = 0; t < g->tables; t++)
        for (size_t k = 0; k < g->table[t].cols; k++) {
            g->table[t].col[k].shift = fit->table[t].col[k].shift;
            g->table[t].col[k].scale = fit->table[t].col[k].scale;
        }
    *ret = g;
    return TAB_OK;
}

size_t tab_generate_tables(const tab_generator *g)
{
    return g->tables;
}

const tab_generated_table *tab_generate_table(const tab_generator *g, size_t i)
{
    return &g->table[i == 0 ? g->main : i - (i <= g->main)].shown;
}

tab_status tab_generate_build(tab_arena *a, const tab_generator *g, size_t i, uint64_t first, uint64_t n,
                              const atomic_bool *cancel, const tab_table **ret, tab_error *err)
{
    const tab_generated_table *t = tab_generate_table(g, i);
    TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)64 << 20);
    tab_generate_reader *r = scratch == NULL ? NULL : tab_generate_reader_new(scratch, g);
    tab_builder *b[TAB_GENERATE_COLS];
    tab_generated_cell cell[TAB_GENERATE_COLS];
    tab_table *out = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols);
    n = first >= t->rows ? 0 : n < t->rows - first ? n : t->rows - first;
    if (r == NULL || out == NULL || col == NULL)
        return tab_no_memory(err);
    for (size_t k = 0; k < t->cols; k++) {
        if ((b[k] = tab_builder_new(a, t->col[k].name)) == NULL)
            return tab_no_memory(err);
        tab_builder_reserve(b[k], n);
    }
    for (uint64_t row = first; row < first + n; row++) {
        tab_generate_row(r, i, row, cell);
        for (size_t k = 0; k < t->cols; k++)
            if (cell[k].kind == TAB_CELL_NULL)
                tab_builder_null(b[k]);
            else if (cell[k].kind == TAB_CELL_NUMBER)
                tab_builder_number(b[k], cell[k].num);
            else
                tab_builder_text(b[k], cell[k].text);
        if (row % 4096 == 0 && tab_arena_full(a))
            return tab_no_memory(err);
        if (row % 4096 == 0 && cancel != NULL && atomic_load(cancel))
            return tab_fail(err, TAB_CANCELLED, "", "nobody waits for the tables any more");
    }
    *out = (tab_table){ .id = t->name, .cols = t->cols, .col = col };
    for (size_t k = 0; k < t->cols; k++) {
        out->rows = tab_builder_rows(b[k]);
        if (!tab_builder_finish(b[k], &col[k]))
            return tab_no_memory(err);
    }
    *ret = out;
    return TAB_OK;
}
