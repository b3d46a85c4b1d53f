/* The page of a run: one file of HTML with its style and its pictures (SVG) inside, no script, nothing
 * fetched. Every text from outside goes through `escaped`: names and cells may be anything. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/profile/profile.h"
#include "tools/tabella/out.h"

enum { BINS = 16, BARS = 6, MOST_COLUMNS = 200 };

static const char HEAD[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\"\n"
    " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Tabella</title>\n<style>\n"
    "body { font: 15px/1.45 system-ui, sans-serif; color: #222;\n"
    "  margin: 2em auto; max-width: 60em; padding: 0 1em; }\n"
    "table { border-collapse: collapse; width: 100%; }\n"
    "td, th { text-align: left; padding: .25em .6em; border-bottom: 1px solid #ddd; }\n"
    ".big { font-size: 1.6em; }\n"
    ".warn { background: #fff3d6; padding: .4em .8em; margin: .4em 0; }\n"
    ".dim { color: #666; }\nsvg { display: block; }\nsvg text { font: 12px system-ui, sans-serif; }\n"
    "</style></head><body>\n<h1>Tabella</h1>\n";

static void raw(tab_out *o, const char *s)
{
    tab_out_bytes(o, s, strlen(s));
}

/* Text between tags and within quoted attributes; control characters become blanks. */
static void escaped(tab_out *o, tab_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '&')
            raw(o, "&amp;");
        else if (c == '<')
            raw(o, "&lt;");
        else if (c == '>')
            raw(o, "&gt;");
        else if (c == '"')
            raw(o, "&quot;");
        else if (c == '\'')
            raw(o, "&#39;");
        else
            tab_out_bytes(o, c < ' ' || c == 0x7f ? " " : &s.p[i], 1);
    }
}

static void shown(tab_out *o, const char *s)
{
    escaped(o, tab_str_of(s));
}

__attribute__((format(printf, 2, 3))) static void say(tab_out *o, const char *format, ...)
{
    char buf[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(buf, sizeof buf, format, ap);
    va_end(ap);
    raw(o, buf);
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* A column of bars, one a bin of the numbers' range. */
static void histogram(tab_out *o, const tab_column_profile *c, size_t rows)
{
    double low = INFINITY, high = -INFINITY;
    size_t count[BINS] = { 0 }, most = 1;
    for (size_t i = 0; i < rows; i++)
        if (isfinite(c->number[i]))
            low = fmin(low, c->number[i]), high = fmax(high, c->number[i]);
    if (!(low < high))
        return;
    for (size_t i = 0; i < rows; i++)
        if (isfinite(c->number[i])) {
            size_t k = (size_t)((c->number[i] / 2 - low / 2) / (high / 2 - low / 2) * BINS);
            k = k < BINS ? k : BINS - 1;
            most = ++count[k] > most ? count[k] : most;
        }
    raw(o, "<svg width=\"170\" height=\"34\" role=\"img\">");
    for (size_t k = 0; k < BINS; k++) {
        double h = 32.0 * (double)count[k] / (double)most;
        say(o, "<rect x=\"%zu\" y=\"%.1f\" width=\"9\" height=\"%.1f\" fill=\"#4a7ab5\"/>", 10 * k, 33 - h,
            h);
    }
    raw(o, "</svg>");
    if (c->type == TAB_NUMERIC)
        say(o, "<span class=\"dim\">%.6g to %.6g</span>", low, high);
}

/* The commonest values with their shares. */
static void shares(tab_out *o, tab_arena *a, const tab_column_profile *c, size_t rows)
{
    size_t *count = tab_arena_new_of(a, size_t, c->levels + 1);
    for (size_t i = 0; count != NULL && i < rows; i++)
        if (c->code[i] < c->levels)
            count[c->code[i]]++;
    for (size_t k = 0; count != NULL && c->present > 0 && k < BARS; k++) {
        size_t best = 0;
        for (size_t l = 1; l < c->levels; l++)
            best = count[l] > count[best] ? l : best;
        if (c->levels == 0 || count[best] < 2)
            break;
        tab_str s = c->level[best];
        for (s.n = s.n < 40 ? s.n : 40; s.n > 0 && s.n < c->level[best].n && (s.p[s.n] & 0xc0) == 0x80;)
            s.n--;
        raw(o, k > 0 ? " &middot; " : "");
        escaped(o, s);
        say(o, " <span class=\"dim\">%.0f&nbsp;%%</span>", 100 * (double)count[best] / (double)c->present);
        count[best] = 0;
    }
}

/* The score with its interval on a line from the plain guess, or 0, to 1. */
static void scale(tab_out *o, const findings *f)
{
    double from = fmin(0, f->low), x = 400 / (1 - from);
    say(o,
        "<svg width=\"420\" height=\"46\" role=\"img\"><line x1=\"5\" x2=\"405\" y1=\"20\" y2=\"20\" "
        "stroke=\"#bbb\"/><line x1=\"%.1f\" x2=\"%.1f\" y1=\"20\" y2=\"20\" stroke=\"#4a7ab5\" "
        "stroke-width=\"7\"/>",
        5 + x * (f->low - from), 5 + x * (f->high - from));
    say(o, "<circle cx=\"%.1f\" cy=\"20\" r=\"6\" fill=\"#1d4370\"/>", 5 + x * (f->score - from));
    say(o, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"8\" y2=\"32\" stroke=\"#b5543a\" stroke-width=\"2\"/>",
        5 + x * (f->plain - from), 5 + x * (f->plain - from));
    say(o, "<text x=\"%.1f\" y=\"44\" fill=\"#b5543a\">plain guess</text></svg>\n",
        fmin(340, fmax(5, x * (f->plain - from) - 20)));
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void prediction(tab_out *o, const Tabella__Bundle *b, const findings *f)
{
    const Tabella__TargetSelection *s = b->target_selection;
    raw(o, "<h2>Prediction</h2>\n");
    if (s != NULL) {
        raw(o, "<p>");
        if (s->column != NULL) {
            raw(o, "<b>");
            escaped(o, (tab_str){ (const char *)s->column->address.data, s->column->address.len });
            raw(o, "</b>: ");
        }
        shown(o, s->reason);
        raw(o, "</p>\n");
    }
    if (f->metric != NULL) {
        say(o,
            "<p><span class=\"big\">%s %.3f</span> (95 %% interval %.3f to %.3f) beside %.3f of %s, over %zu "
            "rows that no answering model had seen.</p>\n",
            f->metric, f->score, f->low, f->high, f->plain, f->guess, f->rows);
        scale(o, f);
    }
    for (size_t i = 0; i < f->warnings; i++) {
        raw(o, "<p class=\"warn\">");
        shown(o, f->warning[i]);
        raw(o, "</p>\n");
    }
    if (f->reasons > 0)
        raw(o, "<h3>What moves it</h3>\n<table>\n");
    for (size_t i = 0; i < f->reasons; i++) {
        raw(o, "<tr><td>");
        escaped(o, f->reason[i].column);
        say(o,
            "</td><td><svg width=\"320\" height=\"14\" role=\"img\"><rect width=\"%.1f\" height=\"14\" "
            "fill=\"#4a7ab5\"/></svg></td><td>%.0f %%</td></tr>\n",
            320 * f->reason[i].share, 100 * f->reason[i].share);
    }
    raw(o, f->reasons > 0 ? "</table>\n" : "");
}

static void columns(tab_out *o, const tab_engine *e, const tab_table *t, const Tabella__TableUnderstanding *u)
{
    tab_profile *p = NULL;
    tab_error err;
    if (tab_profile_table(e, t, &p, &err) != TAB_OK)
        p = NULL; /* the table goes without pictures */
    raw(o, "<h2>");
    escaped(o, (tab_str){ (const char *)u->id.data, u->id.len });
    say(o, "</h2>\n<p>%llu rows, %u columns", (unsigned long long)u->rows, u->cols);
    if (u->n_sector_top5 > 0) {
        raw(o, ", sector: ");
        shown(o, u->sector_top5[0]->name);
        say(o, " (%.0f %%)", 100 * u->sector_top5[0]->confidence);
    }
    raw(o, "</p>\n<table>\n<tr><th>column</th><th>role</th><th>type</th><th>missing</th><th></th></tr>\n");
    for (size_t c = 0; c < u->n_column_profile && c < MOST_COLUMNS; c++) {
        const Tabella__ColumnProfile *x = u->column_profile[c];
        raw(o, "<tr><td>");
        escaped(o, (tab_str){ (const char *)x->name.data, x->name.len });
        raw(o, "</td><td>");
        shown(o, x->role);
        raw(o, x->pii ? " <b>PII</b></td><td>" : "</td><td>");
        shown(o, x->type);
        say(o, "</td><td>%.0f %%</td><td>", 100 * x->missing_pct);
        /* personal data do not travel with a page that is mailed */
        if (p != NULL && !x->pii && p->col[c].number != NULL && p->col[c].type != TAB_BOOLEAN)
            histogram(o, &p->col[c], t->rows);
        else if (p != NULL && !x->pii && p->col[c].code != NULL && !p->col[c].identifying)
            shares(o, e->arena, &p->col[c], t->rows);
        raw(o, "</td></tr>\n");
    }
    raw(o, "</table>\n");
}

static void filled(tab_out *o, const tab_table *const *tables, const findings *f)
{
    if (f->fills == 0)
        return;
    say(o, "<h2>Filled in</h2>\n<p>%zu cells.</p>\n<table>\n", f->filled);
    for (size_t i = 0; i < f->fills; i++) {
        const tab_table *t = tables[f->fill[i].table];
        raw(o, "<tr><td>");
        escaped(o, t->id);
        raw(o, ".");
        escaped(o, t->col[f->fill[i].column].name);
        say(o, "</td><td>%zu of %zu</td><td>", f->fill[i].cells, t->rows);
        shown(o, f->fill[i].method);
        raw(o, "</td></tr>\n");
    }
    raw(o, "</table>\n");
}

bool write_page(tab_out *o, const tab_engine *e, const tab_table *const *tables, const Tabella__Bundle *b,
                const findings *f)
{
    raw(o, HEAD);
    prediction(o, b, f);
    if (f->unusual > 0) {
        raw(o, "<h2>Unusual rows</h2>\n<p>");
        say(o, "%zu in ", f->unusual);
        escaped(o, tables[f->anomaly_table]->id);
        raw(o, "; the most unusual:");
        for (size_t i = 0; i < f->anomalies; i++)
            say(o, "%s row %u (%.2f)", i > 0 ? "," : "", f->anomaly[i].row, f->anomaly[i].score);
        raw(o, "</p>\n");
    }
    filled(o, tables, f);
    if (b->cross_table_map != NULL)
        say(o, "<h2>Across tables</h2>\n<p>%llu of %llu rows linked, %zu shared attributes.</p>\n",
            (unsigned long long)b->records_linked, (unsigned long long)b->records_total,
            b->cross_table_map->n_shared);
    for (size_t t = 0; t < b->n_tables; t++)
        columns(o, e, tables[t], b->tables[t]);
    raw(o, "</body></html>\n");
    return !o->failed && !tab_arena_full(e->arena);
}
