/* The page of a run: the template of the console and of the Python client (gateway/console/page.html), filled
 * with the bundle and, after a run here, with what was found beside it. One file of HTML with its style and
 * its pictures (SVG) inside, no script, nothing fetched; every text from outside is escaped by
 * common/page.c. */
#include "common/bundle/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bundle/bundle_json.h"
#include "tools/tabella/out.h"
#include "tools/tabella/page_html.h"

/* A bundle's arrays lie in one another so deep at most; and how long a file of one may be. */
enum { DEPTH = 32 };
static const size_t LONGEST = (size_t)1 << 30;

/* values: a JSON object, whose text is 0 at its end. */
static bool fill(tab_out *o, tab_arena *a, tab_str values, tab_error *err)
{
    const tab_json *root = NULL;
    if (tab_json_read_own(a, values, DEPTH, &root, err) != TAB_OK)
        return false;
    if (root->kind != TAB_JSON_OBJECT || tab_json_get(tab_json_get(root, "bundle"), "tables") == NULL)
        return tab_fail(err, TAB_VALIDATION, "", "this is not a bundle: it has no tables") == TAB_OK;
    return tab_page_fill(o, a, (tab_str){ PAGE_HTML, sizeof PAGE_HTML - 1 }, root) ||
           tab_no_memory(err) == TAB_OK;
}

/* ---- of a run -------------------------------------------------------------------------------- */

static void text(tab_out *o, const char *key, tab_str s)
{
    tab_out_key(o, key);
    tab_out_str(o, s);
}

static void number(tab_out *o, const char *key, double x)
{
    tab_out_key(o, key);
    tab_out_double(o, x);
}

static void findings_json(tab_out *o, const tab_table *const *tables, const findings *f)
{
    tab_out_open(o, '{');
    if (f->metric != NULL) {
        text(o, "metric", tab_str_of(f->metric));
        text(o, "guess", tab_str_of(f->guess));
        number(o, "score", f->score);
        number(o, "low", f->low);
        number(o, "high", f->high);
        number(o, "plain", f->plain);
        number(o, "rows", (double)f->rows);
    }
    tab_out_key(o, "reasons");
    tab_out_open(o, '[');
    for (size_t i = 0; i < f->reasons; i++) {
        tab_out_open(o, '{');
        text(o, "column", f->reason[i].column);
        number(o, "share", f->reason[i].share);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    number(o, "unusual", (double)f->unusual);
    text(o, "anomaly_table", tables[f->anomaly_table]->id);
    tab_out_key(o, "anomalies");
    tab_out_open(o, '[');
    for (size_t i = 0; i < f->anomalies; i++) {
        tab_out_open(o, '{');
        number(o, "row", f->anomaly[i].row);
        number(o, "score", f->anomaly[i].score);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_key(o, "past");
    tab_out_open(o, '[');
    for (size_t i = 0; i < f->pasts; i++) {
        tab_out_open(o, '[');
        for (size_t k = 0; k < f->past[i].n; k++)
            tab_out_double(o, f->past[i].y[k]);
        tab_out_close(o, ']');
    }
    tab_out_close(o, ']');
    tab_out_key(o, "warnings");
    tab_out_open(o, '[');
    for (size_t i = 0; i < f->warnings; i++)
        tab_out_cstr(o, f->warning[i]);
    tab_out_close(o, ']');
    tab_out_close(o, '}');
}

static void no_cursor(void *arg, tab_out *o, tab_paged array, size_t next)
{
    (void)arg;
    (void)array;
    (void)next;
    tab_out_null(o);
}

/* Arrays of which the page shows the first few elements: it is not made of millions of them. */
static tab_bundle_view shown(void)
{
    tab_bundle_view v = { .cursor = no_cursor };
    for (int i = 0; i < TAB_PAGE_COUNT; i++)
        v.first[i] = i == TAB_PAGE_FORECAST || i == TAB_PAGE_DUPLICATES ? SIZE_MAX : tab_paged_first(i);
    return v;
}

bool write_page(tab_out *o, const tab_engine *e, const tab_table *const *tables, const Tabella__Bundle *b,
                const findings *f)
{
    tab_out values = { 0 };
    tab_error err = { 0 };
    const tab_bundle_view view = shown();
    tab_out_open(&values, '{');
    tab_out_key(&values, "bundle");
    tab_out_open(&values, '{');
    tab_bundle_json(&values, b, &view);
    tab_out_close(&values, '}');
    tab_out_key(&values, "findings");
    findings_json(&values, tables, f);
    tab_out_close(&values, '}');
    tab_out_bytes(&values, "", 1);
    bool good = !values.failed && fill(o, e->arena, (tab_str){ values.p, values.n - 1 }, &err) && !o->failed;
    if (!good)
        fprintf(stderr, "tabella run: report.html: %s\n",
                values.failed || o->failed ? "out of memory" : err.message);
    tab_out_free(&values);
    return good;
}

/* ---- of a bundle that was kept --------------------------------------------------------------- */

/* The file, behind {"bundle": and before }: what the template is filled with. */
static bool read_values(const char *path, tab_out *ret)
{
    char buf[65536];
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (file == NULL)
        return false;
    static const char before[] = "{\"bundle\":";
    tab_out_bytes(ret, before, sizeof before - 1);
    size_t n;
    while (ret->n < LONGEST && (n = fread(buf, 1, sizeof buf, file)) > 0)
        tab_out_bytes(ret, buf, n);
    bool good = !ferror(file) && feof(file) && !ret->failed;
    if (file != stdin)
        fclose(file);
    tab_out_bytes(ret, "}", 2);
    return good && !ret->failed;
}

int cmd_page(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], "--help") == 0) {
        fputs("usage: tabella page BUNDLE.json > PAGE.html\n\n"
              "The page of a bundle that `tabella run --json`, the API or the console gave (- reads stdin):\n"
              "one file with its pictures inside and without scripts, to be mailed or printed.\n",
              argc == 2 ? stdout : stderr);
        return argc == 2 ? EXIT_SUCCESS : EXIT_USAGE;
    }
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    tab_out values = { 0 }, page = { 0 };
    tab_error err = { 0 };
    int rc = EXIT_INPUT;
    if (!read_values(argv[1], &values))
        fprintf(stderr, "tabella page: %s cannot be read\n", argv[1]);
    else if (a == NULL || !fill(&page, a, (tab_str){ values.p, values.n - 1 }, &err))
        fprintf(stderr, "tabella page: %s\n", err.message);
    else
        rc = fwrite(page.p, 1, page.n, stdout) == page.n && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    tab_out_free(&values);
    tab_out_free(&page);
    return rc;
}
