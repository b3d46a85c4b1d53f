/* See json_spans.h. */
#include "services/data-connector/protocols/json_spans.h"

#include <stdio.h>

#include "common/json/json_scan.h"

enum { DEPTH = 32, POINTER = 1024 };

/* The next part of a pointer, ~1 and ~0 undone; false at its end. */
static bool part(const char **pointer, char ret[POINTER])
{
    size_t n = 0;
    if (**pointer != '/')
        return false;
    for (++*pointer; **pointer != '\0' && **pointer != '/' && n + 1 < POINTER; ++*pointer)
        if (**pointer == '~' && ((*pointer)[1] == '0' || (*pointer)[1] == '1'))
            ret[n++] = *++*pointer == '1' ? '/' : '~';
        else
            ret[n++] = **pointer;
    ret[n] = '\0';
    return true;
}

static bool find(json_scan *s, const char *pointer, tab_str *ret)
{
    char want[POINTER];
    bool first = true, done = false;
    json_space(s);
    if (!part(&pointer, want)) {
        const char *from = s->p;
        if (!json_skip(s))
            return false;
        *ret = (tab_str){ from, (size_t)(s->p - from) };
        return true;
    }
    if (*s->p != '{')
        return json_skip(s);
    s->p++;
    if (!json_enter(s))
        return false;
    for (;;) {
        tab_str key;
        if (!json_next_key(s, &first, &key, &done))
            return false;
        if (done)
            return true;
        if (!(tab_str_eq(key, tab_str_of(want)) ? find(s, pointer, ret) : json_skip(s)))
            return false;
    }
}

static tab_status scanned(json_scan *s, bool good, tab_error *err)
{
    good = good && json_end(s);
    json_scan_free(s);
    return good ? TAB_OK
                : tab_fail(err, TAB_VALIDATION, "source", "The response of the source is not valid JSON.");
}

tab_status json_span(tab_arena *a, tab_str text, const char *pointer, tab_str *ret, tab_error *err)
{
    json_scan s;
    *ret = (tab_str){ NULL, 0 };
    TAB_TRY(json_scan_init(&s, a, text, DEPTH, NULL));
    return scanned(&s, find(&s, pointer, ret), err);
}

/* How a value begins: '{' for an array of objects, ']' for an empty one, 0 for anything else. */
static char array_of(const char *p)
{
    if (*p++ != '[')
        return 0;
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
        p++;
    return *p == '{' || *p == ']' ? *p : 0;
}

typedef struct {
    json_scan s;
    bool deep;
    size_t found, empty;             /* arrays of objects, else empty ones */
    char path[POINTER], at[POINTER]; /* of the first that was found; of what is scanned */
    tab_str span;
} seeking;

static bool seek(seeking *k, size_t depth)
{
    bool first = true, done = false;
    const char *from;
    size_t n = strlen(k->at);
    json_space(&k->s);
    from = k->s.p;
    char first_of = depth > 0 ? array_of(from) : 0;
    if (first_of != 0) {
        if (!json_skip(&k->s))
            return false;
        if (first_of == '{' ? k->found++ == 0 : k->found == 0 && k->empty++ == 0) {
            k->span = (tab_str){ from, (size_t)(k->s.p - from) };
            memcpy(k->path, k->at, sizeof k->path);
        }
        return true;
    }
    if (*from != '{' || (depth > 0 && !k->deep))
        return json_skip(&k->s);
    k->s.p++;
    if (!json_enter(&k->s))
        return false;
    for (;;) {
        tab_str key;
        if (!json_next_key(&k->s, &first, &key, &done))
            return false;
        if (done)
            return true;
        bool room = n + 2 * key.n + 2 < POINTER;
        size_t m = n;
        k->at[m++] = '/';
        for (size_t i = 0; i < key.n && room; i++)
            if (key.p[i] == '~' || key.p[i] == '/') {
                k->at[m++] = '~';
                k->at[m++] = key.p[i] == '~' ? '0' : '1';
            } else {
                k->at[m++] = key.p[i];
            }
        k->at[m] = '\0';
        if (!(room ? seek(k, depth + 1) : json_skip(&k->s)))
            return false;
        k->at[n] = '\0';
    }
}

tab_status json_rows_span(tab_arena *a, tab_str text, bool deep, tab_str *ret, const char **ret_pointer,
                          tab_error *err)
{
    seeking k = { .deep = deep };
    tab_str whole;
    *ret = (tab_str){ NULL, 0 };
    *ret_pointer = "";
    TAB_TRY(json_span(a, text, "", &whole, err));
    if (whole.n > 0 && whole.p[0] == '[') {
        *ret = whole;
        return TAB_OK;
    }
    TAB_TRY(json_scan_init(&k.s, a, text, DEPTH, NULL));
    TAB_TRY(scanned(&k.s, seek(&k, 0), err));
    size_t n = k.found > 0 ? k.found : k.empty;
    if (n == 1 || (deep && n > 0)) {
        *ret = k.span;
        *ret_pointer = tab_arena_copy(a, tab_str_of(k.path)).p;
    }
    return *ret_pointer == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status json_span_text(tab_arena *a, tab_str span, tab_str *ret, tab_error *err)
{
    const tab_json *t;
    *ret = (tab_str){ NULL, 0 };
    if (span.n == 0 || (span.p[0] != '"' && span.p[0] != '-' && (span.p[0] < '0' || span.p[0] > '9')))
        return TAB_OK;
    tab_str copy = tab_arena_copy(a, span);
    if (copy.p == NULL)
        return tab_no_memory(err);
    if (tab_json_read(a, copy, 1, &t, NULL) != TAB_OK)
        return tab_fail(err, TAB_VALIDATION, "source", "The source's answer is no JSON that can be read.");
    *ret = t->text.n > 0 ? t->text : (tab_str){ NULL, 0 };
    return TAB_OK;
}
