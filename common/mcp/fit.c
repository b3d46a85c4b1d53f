/* An answer within a budget. A ladder of lengths, longest first: on each step every list, object and text
 * of the tree is cut to the step's length and containers below its depth are left empty; the first step that
 * fits is the answer. The last step is a few hundred bytes whatever the tree. Writing stops as soon as it is
 * too long, so a step costs no more than the budget.
 *
 * The part that was asked for goes first (decision 0617): it has the longest step that leaves a quarter of
 * the budget beside the shortest of the rest, and the rest the longest that fits then. */
#include <stdio.h>
#include <string.h>

#include "common/mcp/mcp.h"

typedef struct {
    size_t items, text, depth;
} step;

static const step LADDER[] = {
    { SIZE_MAX, SIZE_MAX, 64 },
    { 1000, 2000, 64 },
    { 300, 500, 64 },
    { 100, 300, 64 },
    { 40, 200, 64 },
    { 20, 160, 64 },
    { 10, 120, 64 },
    { 5, 80, 64 },
    { 3, 60, 64 },
    { 2, 40, 64 },
    { 1, 40, 64 },
    { 1, 40, 5 },
    { 1, 40, 3 },
    { 0, 40, 2 },
};
enum { NOTES = 8, PATH = 160, KEY = 64, MEMBERS = 12 };

typedef struct {
    char part[PATH];
    size_t shown, of;
} note;

typedef struct {
    tab_out *o;
    step rest, first;        /* of all else, of the part that goes first */
    tab_str part;            /* its path; empty: there is none */
    size_t most, notes, cut; /* notes kept, and cuts in all */
    note left[NOTES];
    char path[PATH]; /* of what is being written */
    size_t n;        /* its bytes; PATH: too long to be told */
} cutter;

static void left_out(cutter *c, size_t shown, size_t of)
{
    c->cut++;
    if (c->notes == NOTES || c->n >= PATH)
        return;
    note *k = &c->left[c->notes++];
    *k = (note){ .shown = shown, .of = of };
    memcpy(k->part, c->path, c->n);
}

/* Adds to the path; gives its length before. */
static size_t deeper(cutter *c, const tab_json *of, const tab_json *m, size_t i)
{
    size_t was = c->n;
    if (was >= PATH)
        return was;
    int n = of->kind == TAB_JSON_ARRAY
                ? snprintf(c->path + was, PATH - was, "[%zu]", i)
                : snprintf(c->path + was, PATH - was, "%s%.*s", was > 0 ? "." : "", TAB_STR(m->key));
    c->n = n < 0 || (size_t)n >= PATH - was ? PATH : was + (size_t)n;
    return was;
}

/* The step at the path. */
static step step_of(const cutter *c)
{
    size_t n = c->part.n;
    bool within = n > 0 && c->n >= n && c->n < PATH && memcmp(c->path, c->part.p, n) == 0 &&
                  (c->n == n || c->path[n] == '.' || c->path[n] == '[');
    return within ? c->first : c->rest;
}

/* Whether the path of the part that goes first leads through this member of the object at the path. */
static bool leads(const cutter *c, tab_str key)
{
    size_t from = c->n > 0 ? c->n + 1 : 0;
    return c->part.n > 0 && from + key.n <= c->part.n && memcmp(c->path, c->part.p, c->n) == 0 &&
           (c->n == 0 || c->part.p[c->n] == '.') && memcmp(c->part.p + from, key.p, key.n) == 0 &&
           (from + key.n == c->part.n || c->part.p[from + key.n] == '.');
}

static void text(cutter *c, tab_str s)
{
    size_t n = s.n, most = step_of(c).text;
    if (n > most) {
        for (n = most; n > 0 && (s.p[n] & 0xc0) == 0x80;)
            n--;
        left_out(c, n, s.n);
    }
    tab_out_str(c->o, (tab_str){ s.p, n });
}

static void put(cutter *c, const tab_json *of, size_t depth)
{
    bool list = of->kind == TAB_JSON_ARRAY;
    if (of->kind == TAB_JSON_STRING)
        text(c, of->text);
    else if (!list && of->kind != TAB_JSON_OBJECT)
        tab_mcp_tree(c->o, of);
    if (!list && of->kind != TAB_JSON_OBJECT)
        return;
    step at = step_of(c);
    size_t most = depth >= at.depth ? 0 : at.items, kept = 0, shown = 0, i = 0;
    if (!list && most > 0 && most < MEMBERS + 4 * at.items)
        most = depth == 0 ? 64 : MEMBERS + 4 * at.items; /* an object's members are of different kinds */
    tab_out_open(c->o, list ? '[' : '{');
    for (const tab_json *m = of->first; m != NULL && c->o->n <= c->most; m = m->next, i++) {
        bool must = !list && leads(c, m->key);
        if (list && kept >= most)
            break;
        if (!must && (kept >= most || (!list && m->key.n > KEY && at.items != SIZE_MAX)))
            continue;
        kept += !must;
        if (!list)
            tab_out_key_str(c->o, m->key);
        size_t was = deeper(c, of, m, i);
        put(c, m, depth + 1);
        c->n = was;
        shown++;
    }
    tab_out_close(c->o, list ? ']' : '}');
    if (shown < of->count)
        left_out(c, shown, of->count);
}

static void left_list(cutter *c)
{
    tab_out_key(c->o, "left_out");
    tab_out_open(c->o, '[');
    for (size_t i = 0; i < c->notes; i++) {
        tab_out_open(c->o, '{');
        tab_out_key(c->o, "part");
        tab_out_cstr(c->o, c->left[i].part);
        tab_out_key(c->o, "shown");
        tab_out_uint(c->o, c->left[i].shown);
        tab_out_key(c->o, "of");
        tab_out_uint(c->o, c->left[i].of);
        tab_out_close(c->o, '}');
    }
    tab_out_close(c->o, ']');
}

static void document(cutter *c, const tab_json *of, const char *run, tab_str at)
{
    c->n = at.n < PATH ? at.n : PATH;
    memcpy(c->path, at.p, at.n < PATH ? at.n : 0);
    tab_out_open(c->o, '{');
    tab_out_key(c->o, "run");
    tab_out_cstr(c->o, run);
    tab_out_key(c->o, "answer");
    put(c, of, 0);
    left_list(c);
    tab_out_key(c->o, "ask");
    char how[256];
    snprintf(
        how, sizeof how,
        "%zu cut. Call ask with run, a part as left_out names it, offset and limit, or raise max_tokens.",
        c->cut);
    tab_out_cstr(c->o, c->cut > 0 ? how : "Nothing was left out.");
    tab_out_close(c->o, '}');
}

/* What is to be written, and both forms of it. */
typedef struct {
    const tab_json *of;
    const char *run;
    tab_str at, part;
    tab_out doc, both;
} answer;

/* Whether the answer has at most so many bytes with these steps. */
static bool fits(answer *x, step rest, step first, size_t most)
{
    x->doc.n = x->both.n = 0;
    x->doc.comma = x->both.comma = false;
    cutter c = { .o = &x->doc, .rest = rest, .first = first, .part = x->part, .most = most };
    document(&c, x->of, x->run, x->at);
    if (x->doc.n > most)
        return false;
    tab_out_str(&x->both, tab_out_text(&x->doc));
    return x->both.n + x->doc.n + 100 <= most;
}

void tab_mcp_fit(tab_out *o, const tab_json *of, const char *run, tab_str at, const char *first, size_t most)
{
    answer x = { .of = of, .run = run, .at = at };
    size_t last = sizeof LADDER / sizeof *LADDER - 1, i = 0, k = 0;
    if (first[0] != 0 && !fits(&x, LADDER[0], LADDER[0], most)) {
        x.part = tab_str_of(first);
        while (k < last && !fits(&x, LADDER[last], LADDER[k], most - most / 4))
            k++;
    }
    while (!fits(&x, LADDER[i], LADDER[k], most) && i < last)
        i++;
    tab_out doc = x.doc, both = x.both;
    tab_out_key(o, "content");
    tab_out_raw(o, TAB_S("[{\"type\":\"text\",\"text\":"));
    tab_out_bytes(o, both.p, both.n);
    tab_out_bytes(o, "}]", 2);
    tab_out_key(o, "structuredContent");
    tab_out_raw(o, tab_out_text(&doc));
    o->failed = o->failed || doc.failed || both.failed;
    tab_out_free(&doc);
    tab_out_free(&both);
}
