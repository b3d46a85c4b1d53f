/* JSON's grammar: tokens, checking, and trees of small documents. */
#include "common/json/json_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum { FEW_KEYS = 12, KEY_SLOTS = 2 * JSON_KEYS_MAX };

/* The keys of the object open at one depth: the first few as they stand; those of a larger object also in an
 * open-addressing table, which a new object empties by counting up its generation. */
struct json_keys {
    uint32_t generation, n;
    tab_str few[FEW_KEYS];
    struct {
        uint32_t generation;
        tab_str key;
    } * slot; /* (KEY_SLOTS), made by the first object that needs it */
};

static uint64_t secret;

static void __attribute__((constructor)) draw_secret(void)
{
    if (getrandom(&secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        secret = 0x2545f4914f6cdd1du;
    secret |= 1;
}

bool json_bad(json_scan *s, const char *what)
{
    s->syntax = true;
    tab_fail(s->err, TAB_VALIDATION, "body", "the body is not valid JSON: %s at byte %zu", what,
             (size_t)(s->p - s->start));
    return false;
}

static bool too_many(json_scan *s, const char *what)
{
    s->syntax = true;
    tab_fail(s->err, TAB_VALIDATION, "body", "the body holds %s (at byte %zu)", what,
             (size_t)(s->p - s->start));
    return false;
}

static bool no_memory(json_scan *s)
{
    s->syntax = true;
    tab_fail(s->err, TAB_INTERNAL, "", "the request needs more memory than one request may use");
    return false;
}

tab_status json_scan_init(json_scan *s, tab_arena *a, tab_str text, size_t depth_max, tab_error *err)
{
    *s = (json_scan){ .start = text.p, .p = text.p, .end = text.p + text.n, .a = a, .err = err };
    s->nodes_max = JSON_NODES_MAX;
    s->depth_max = depth_max < JSON_DEPTH_MAX ? depth_max : JSON_DEPTH_MAX;
    if (text.n >= 3 && memcmp(text.p, "\xEF\xBB\xBF", 3) == 0)
        return tab_fail(err, TAB_VALIDATION, "body", "the body starts with a byte order mark");
    if (!tab_utf8_valid(text))
        return tab_fail(err, TAB_VALIDATION, "body", "the body is not valid UTF-8");
    json_space(s);
    if (s->p == s->end)
        return tab_fail(err, TAB_VALIDATION, "body", "the body is empty");
    return TAB_OK;
}

void json_scan_free(json_scan *s)
{
    free(s->scratch);
    for (size_t i = 0; s->keys != NULL && i < s->depth_max; i++)
        free(s->keys[i].slot);
    free(s->keys);
    s->scratch = NULL;
    s->keys = NULL;
}

/* ---- strings --------------------------------------------------------------------------------- */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits of \uXXXX; -1 when they are not four. */
static int32_t code_unit(const char *p)
{
    int32_t u = 0;
    for (int i = 0; i < 4; i++) {
        int h = hex(p[i]);
        if (h < 0)
            return -1;
        u = u << 4 | h;
    }
    return u;
}

/* One escape, s->p behind its backslash, decoded to q; its length, 0 on error. */
static size_t escape(json_scan *s, char *q)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = *s->p;
    const char *at = c == 0 ? NULL : strchr(from, c);
    if (at != NULL) {
        *q = to[at - from];
        s->p++;
        return 1;
    }
    int32_t u = c == 'u' ? code_unit(s->p + 1) : -1;
    if (u < 0)
        return json_bad(s, "a wrong escape");
    if (u >= 0xDC00 && u < 0xE000)
        return json_bad(s, "a lone surrogate");
    if (u >= 0xD800 && u < 0xDC00) {
        int32_t low = s->p[5] == '\\' && s->p[6] == 'u' ? code_unit(s->p + 7) : -1;
        if (low < 0xDC00 || low >= 0xE000)
            return json_bad(s, "a lone surrogate");
        s->p += 6;
        u = 0x10000 + ((u - 0xD800) << 10) + (low - 0xDC00);
    }
    s->p += 5;
    s->nul |= u == 0;
    return tab_utf8_put((uint32_t)u, q);
}

bool json_text(json_scan *s, tab_str *ret)
{
    const char *from = s->p;
    s->nul = false;
    s->p = json_plain(from, s->end);
    if (*s->p == '"') {
        *ret = (tab_str){ from, (size_t)(s->p++ - from) };
        return true;
    }
    size_t n = 0;
    for (;;) {
        size_t run = (size_t)(s->p - from);
        if (n + run + 4 > s->scratch_cap) {
            size_t cap = 2 * (n + run) + 256;
            char *q = realloc(s->scratch, cap);
            if (q == NULL)
                return no_memory(s);
            s->scratch = q;
            s->scratch_cap = cap;
        }
        memcpy(s->scratch + n, from, run);
        n += run;
        if (*s->p == '"') {
            s->p++;
            *ret = (tab_str){ s->scratch, n };
            return true;
        }
        if (*s->p != '\\')
            return json_bad(s, s->p == s->end ? "an unterminated string" : "a control character in a string");
        s->p++;
        size_t k = escape(s, s->scratch + n);
        if (k == 0)
            return false;
        n += k;
        from = s->p;
        s->p = json_plain(from, s->end);
    }
}

bool json_literal(json_scan *s, const char *rest, size_t n)
{
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, rest, n) != 0)
        return json_bad(s, "an unknown word");
    s->p += n;
    return true;
}

/* ---- containers ------------------------------------------------------------------------------ */

bool json_enter(json_scan *s)
{
    if (s->depth < s->depth_max) {
        s->depth++;
        return true;
    }
    s->syntax = true;
    tab_fail(s->err, TAB_VALIDATION, "body", "the body is nested deeper than the limit of %zu", s->depth_max);
    return false;
}

static bool leave(json_scan *s)
{
    s->depth--;
    s->p++;
    return true;
}

bool json_next_item(json_scan *s, bool *first, bool *ret_done)
{
    json_space(s);
    *ret_done = false;
    if (*s->p == ']') {
        *ret_done = true;
        return leave(s);
    }
    if (*first) {
        *first = false;
        return true;
    }
    if (*s->p != ',')
        return json_bad(s, "a missing comma or bracket");
    s->p++;
    json_space(s);
    return *s->p != ']' || json_bad(s, "an extra comma");
}

static uint64_t hash_key(tab_str k)
{
    uint64_t h = secret;
    for (size_t i = 0; i < k.n; i++) {
        unsigned __int128 x = (unsigned __int128)(h ^ (uint8_t)k.p[i]) * 0x9e3779b97f4a7c15u;
        h = (uint64_t)x ^ (uint64_t)(x >> 64);
    }
    return h;
}

static bool remember_key(json_scan *s, bool first, tab_str key)
{
    if (s->keys == NULL) {
        s->keys = calloc(s->depth_max, sizeof *s->keys);
        if (s->keys == NULL)
            return no_memory(s);
    }
    struct json_keys *k = &s->keys[s->depth - 1];
    if (first) {
        k->generation++;
        k->n = 0;
    }
    if (k->n == JSON_KEYS_MAX || key.n > JSON_KEY_BYTES_MAX)
        return too_many(s, "an object of more keys, or a key of more bytes, than the limit of 1024");
    for (size_t i = 0; i < k->n && i < FEW_KEYS; i++)
        if (tab_str_eq(k->few[i], key))
            return json_bad(s, "a repeated key in an object");
    size_t at = 0;
    if (k->n >= FEW_KEYS) {
        if (k->slot == NULL && (k->slot = calloc(KEY_SLOTS, sizeof *k->slot)) == NULL)
            return no_memory(s);
        at = hash_key(key) % KEY_SLOTS;
        for (; k->slot[at].generation == k->generation; at = (at + 1) % KEY_SLOTS)
            if (tab_str_eq(k->slot[at].key, key))
                return json_bad(s, "a repeated key in an object");
    }
    if (key.p == s->scratch) {
        key = tab_arena_copy(s->a, key);
        if (key.p == NULL)
            return no_memory(s);
    }
    if (k->n < FEW_KEYS) {
        k->few[k->n] = key;
    } else {
        k->slot[at].generation = k->generation;
        k->slot[at].key = key;
    }
    k->n++;
    return true;
}

bool json_next_key(json_scan *s, bool *first, tab_str *ret_key, bool *ret_done)
{
    json_space(s);
    *ret_done = false;
    if (*s->p == '}') {
        *ret_done = true;
        return leave(s);
    }
    bool opening = *first;
    if (!opening) {
        if (*s->p != ',')
            return json_bad(s, "a missing comma or brace");
        s->p++;
        json_space(s);
    }
    *first = false;
    if (*s->p != '"')
        return json_bad(s, "a key that is not a string");
    s->p++;
    tab_str key;
    if (!json_text(s, &key))
        return false;
    if (s->nul)
        return json_bad(s, "a NUL character in a key");
    if (!remember_key(s, opening, key))
        return false;
    json_space(s);
    if (*s->p != ':')
        return json_bad(s, "a missing colon");
    s->p++;
    json_space(s);
    *ret_key = key;
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool number(json_scan *s, double *ret, tab_str *ret_digits)
{
    size_t n = 0;
    tab_number_kind kind = tab_number_read(s->p, s->end, &n, ret);
    if (kind == TAB_NUMBER_NONE)
        return json_bad(s, "an unexpected character");
    if (kind == TAB_NUMBER_RANGE)
        *ret = *s->p == '-' ? -1.7976931348623157e308 : 1.7976931348623157e308;
    *ret_digits = (tab_str){ s->p, n };
    s->p += n;
    return true;
}

bool json_skip(json_scan *s)
{
    bool first = true, done;
    tab_str text;
    double x;
    switch (*s->p) {
    case '"':
        s->p++;
        return json_text(s, &text);
    case '{':
        s->p++;
        if (!json_enter(s))
            return false;
        while (json_next_key(s, &first, &text, &done))
            if (done)
                return true;
            else if (!json_skip(s))
                return false;
        return false;
    case '[':
        s->p++;
        if (!json_enter(s))
            return false;
        while (json_next_item(s, &first, &done))
            if (done)
                return true;
            else if (!json_skip(s))
                return false;
        return false;
    case 't':
        return json_literal(s, "true", 4);
    case 'f':
        return json_literal(s, "false", 5);
    case 'n':
        return json_literal(s, "null", 4);
    default:
        return number(s, &x, &text);
    }
}

static bool keep(json_scan *s, tab_str text, tab_str *ret)
{
    *ret = text.p == s->scratch ? tab_arena_copy(s->a, text) : text;
    return ret->p != NULL || no_memory(s);
}

static bool tree_member(json_scan *s, tab_json *of, tab_json **last, tab_str key)
{
    if (++s->nodes > s->nodes_max)
        return too_many(s, "more values outside tables than the limit of 262144");
    tab_json *m = tab_arena_new_of(s->a, tab_json, 1);
    if (m == NULL || !keep(s, key, &m->key))
        return no_memory(s);
    *(*last == NULL ? &of->first : &(*last)->next) = m;
    *last = m;
    of->count++;
    return json_tree(s, m);
}

bool json_tree(json_scan *s, tab_json *ret)
{
    bool first = true, done;
    tab_json *last = NULL;
    tab_str text = TAB_S("");
    switch (*s->p) {
    case '"':
        s->p++;
        ret->kind = TAB_JSON_STRING;
        return json_text(s, &text) && (!s->nul || json_bad(s, "a NUL character in a string")) &&
               keep(s, text, &ret->text);
    case '{':
        s->p++;
        ret->kind = TAB_JSON_OBJECT;
        if (!json_enter(s))
            return false;
        while (json_next_key(s, &first, &text, &done))
            if (done)
                return true;
            else if (!tree_member(s, ret, &last, text))
                return false;
        return false;
    case '[':
        s->p++;
        ret->kind = TAB_JSON_ARRAY;
        if (!json_enter(s))
            return false;
        while (json_next_item(s, &first, &done))
            if (done)
                return true;
            else if (!tree_member(s, ret, &last, text))
                return false;
        return false;
    case 't':
    case 'f':
        ret->kind = TAB_JSON_BOOL;
        ret->yes = *s->p == 't';
        return ret->yes ? json_literal(s, "true", 4) : json_literal(s, "false", 5);
    case 'n':
        ret->kind = TAB_JSON_NULL;
        return json_literal(s, "null", 4);
    default:
        ret->kind = TAB_JSON_NUMBER;
        return number(s, &ret->num, &ret->text);
    }
}

bool json_end(json_scan *s)
{
    json_space(s);
    return s->p == s->end || json_bad(s, "something after the document");
}

static tab_status read_tree(tab_arena *a, tab_str text, size_t depth, size_t nodes, const tab_json **ret,
                            tab_error *err)
{
    tab_error own;
    json_scan s;
    err = err != NULL ? err : &own;
    tab_status st = json_scan_init(&s, a, text, depth, err);
    if (st != TAB_OK)
        return st;
    s.nodes_max = nodes;
    tab_json *root = tab_arena_new_of(a, tab_json, 1);
    bool ok = root == NULL ? no_memory(&s) : json_tree(&s, root) && json_end(&s);
    json_scan_free(&s);
    if (!ok)
        return err->status;
    *ret = root;
    return TAB_OK;
}

tab_status tab_json_read(tab_arena *a, tab_str text, size_t depth, const tab_json **ret, tab_error *err)
{
    return read_tree(a, text, depth, JSON_NODES_MAX, ret, err);
}

tab_status tab_json_read_own(tab_arena *a, tab_str text, size_t depth, const tab_json **ret, tab_error *err)
{
    return read_tree(a, text, depth, SIZE_MAX, ret, err);
}

const tab_json *tab_json_get(const tab_json *of, const char *key)
{
    if (of == NULL || of->kind != TAB_JSON_OBJECT)
        return NULL;
    tab_str want = tab_str_of(key);
    for (const tab_json *m = of->first; m != NULL; m = m->next)
        if (tab_str_eq(m->key, want))
            return m;
    return NULL;
}
