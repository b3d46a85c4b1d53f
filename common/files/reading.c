/* See reading.h. */
#include "common/files/reading.h"

#include <stdio.h>
#include <strings.h>

#include "common/base/integer.h"

/* Character sets that can be asked for. Of none of them is a byte more than three of UTF-8 (charset.h). */
static const struct {
    const char *name, *iconv;
} CHARSETS[] = {
    { "utf-8", "utf-8" },
    { "utf8", "utf-8" },
    { "ascii", "utf-8" },
    { "utf-16le", "utf-16le" },
    { "utf-16be", "utf-16be" },
    { "latin-1", "windows-1252" },
    { "latin1", "windows-1252" },
    { "iso-8859-1", "windows-1252" },
    { "windows-1252", "windows-1252" },
    { "cp1252", "windows-1252" },
    { "iso-8859-2", "iso-8859-2" },
    { "iso-8859-5", "iso-8859-5" },
    { "iso-8859-7", "iso-8859-7" },
    { "iso-8859-9", "iso-8859-9" },
    { "iso-8859-15", "iso-8859-15" },
    { "windows-1250", "windows-1250" },
    { "windows-1251", "windows-1251" },
    { "windows-1253", "windows-1253" },
    { "windows-1254", "windows-1254" },
    { "koi8-r", "koi8-r" },
    { "koi8-u", "koi8-u" },
    { "macintosh", "macintosh" },
    { "cp437", "cp437" },
    { "cp850", "cp850" },
    { "shift_jis", "shift_jis" },
    { "euc-jp", "euc-jp" },
    { "euc-kr", "euc-kr" },
    { "gb18030", "gb18030" },
    { "big5", "big5" },
};

enum { HEADER_MOST = 3, SKIP_MOST = 1000000 };

/* ---- what is asked ------------------------------------------------------------------------------ */

static tab_status ask_delimiter(tab_reading_asked *r, tab_str s, tab_error *err)
{
    if (tab_str_eq(s, TAB_S("tab")) || tab_str_eq(s, TAB_S("\\t")))
        s = TAB_S("\t");
    char c = s.n == 1 ? s.p[0] : 0;
    bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c <= 0 || c == '"' || c == '\n' || c == '\r' || letter)
        return tab_fail(err, TAB_VALIDATION, "options.reading.delimiter",
                        "`delimiter` must be one ASCII character other than a letter, a digit or a quote, or "
                        "\"tab\"");
    r->delimiter = c;
    return TAB_OK;
}

static tab_status ask_quote(tab_reading_asked *r, tab_str s, tab_error *err)
{
    if (s.n > 1 || (s.n == 1 && s.p[0] != '"' && s.p[0] != '\''))
        return tab_fail(err, TAB_VALIDATION, "options.reading.quote",
                        "`quote` must be \" or ', or an empty string if no field is quoted");
    r->quote = s.n == 0 ? TAB_READING_UNQUOTED : s.p[0];
    return TAB_OK;
}

static tab_status ask_encoding(tab_reading_asked *r, tab_str s, tab_error *err)
{
    for (size_t i = 0; i < sizeof CHARSETS / sizeof *CHARSETS; i++)
        if (s.n == strlen(CHARSETS[i].name) && strncasecmp(s.p, CHARSETS[i].name, s.n) == 0) {
            r->encoding = CHARSETS[i].iconv;
            return TAB_OK;
        }
    return tab_fail(
        err, TAB_VALIDATION, "options.reading.encoding",
        "the encoding \"%.*s\" is not known; utf-8, latin-1, windows-1252 and utf-16le are among those that "
        "are (docs/formats.md)",
        (int)(s.n < 40 ? s.n : 40), s.p);
}

static tab_status ask_count(int64_t *ret, const char *key, tab_str s, int64_t most, tab_error *err)
{
    char param[64];
    snprintf(param, sizeof param, "options.reading.%s", key);
    return tab_integer_read(s, 0, most, ret)
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, param, "`%s` must be a whole number from 0 to %lld", key,
                          (long long)most);
}

tab_status tab_reading_ask_text(tab_reading_asked *r, const char *key, tab_str value, tab_error *err)
{
    int64_t n = 0;
    if (strcmp(key, "delimiter") == 0)
        return ask_delimiter(r, value, err);
    if (strcmp(key, "quote") == 0)
        return ask_quote(r, value, err);
    if (strcmp(key, "encoding") == 0)
        return ask_encoding(r, value, err);
    if (strcmp(key, "skip_lines") == 0)
        return ask_count(&r->skip_lines, key, value, SKIP_MOST, err);
    TAB_TRY(ask_count(&n, "header_rows", value, HEADER_MOST, err));
    r->header_rows = (int)n;
    return TAB_OK;
}

static tab_status ask_member(tab_reading_asked *r, const tab_json *m, tab_error *err)
{
    static const struct {
        const char *key;
        tab_json_kind kind;
    } members[] = { { "delimiter", TAB_JSON_STRING },  { "quote", TAB_JSON_STRING },
                    { "encoding", TAB_JSON_STRING },   { "header_rows", TAB_JSON_NUMBER },
                    { "skip_lines", TAB_JSON_NUMBER }, { "one_table", TAB_JSON_BOOL } };
    static const char *const kinds[] = { "null", "true or false", "a number", "a text" };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *key = members[i].key;
        char param[64];
        if (!tab_str_eq(m->key, tab_str_of(key)))
            continue;
        snprintf(param, sizeof param, "options.reading.%s", key);
        if (m->kind != members[i].kind)
            return tab_fail(err, TAB_VALIDATION, param, "`%s` is %s", key, kinds[members[i].kind]);
        if (m->kind == TAB_JSON_BOOL) {
            r->one_table = m->yes;
            return TAB_OK;
        }
        return tab_reading_ask_text(r, key, m->text, err);
    }
    return tab_fail(
        err, TAB_VALIDATION, "options.reading",
        "`reading` has no field \"%.*s\"; its fields are delimiter, quote, encoding, header_rows, "
        "skip_lines and one_table",
        (int)(m->key.n < 40 ? m->key.n : 40), m->key.p);
}

tab_status tab_reading_ask(const tab_json *o, tab_reading_asked *ret, tab_error *err)
{
    *ret = (tab_reading_asked)TAB_READING_FOUND;
    if (o->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "options.reading", "`reading` must be an object");
    for (const tab_json *m = o->first; m != NULL; m = m->next)
        TAB_TRY(ask_member(ret, m, err));
    return TAB_OK;
}

tab_status tab_reading_ask_json(tab_arena *a, tab_str json, tab_reading_asked *ret, tab_error *err)
{
    const tab_json *o;
    *ret = (tab_reading_asked)TAB_READING_FOUND;
    if (json.n == 0)
        return TAB_OK;
    TAB_TRY(tab_json_read(a, json, 4, &o, err));
    return tab_reading_ask(o, ret, err);
}

static void char_member(tab_out *o, const char *key, char c)
{
    if (c == 0)
        return;
    tab_out_key(o, key);
    tab_out_str(o, (tab_str){ &c, c != TAB_READING_UNQUOTED });
}

static void count_member(tab_out *o, const char *key, int64_t n)
{
    if (n < 0)
        return;
    tab_out_key(o, key);
    tab_out_int(o, n);
}

void tab_reading_asked_json(tab_out *o, const tab_reading_asked *r)
{
    tab_out_open(o, '{');
    char_member(o, "delimiter", r->delimiter);
    char_member(o, "quote", r->quote);
    if (r->encoding != NULL) {
        tab_out_key(o, "encoding");
        tab_out_cstr(o, r->encoding);
    }
    count_member(o, "header_rows", r->header_rows);
    count_member(o, "skip_lines", r->skip_lines);
    if (r->one_table) {
        tab_out_key(o, "one_table");
        tab_out_bool(o, true);
    }
    tab_out_close(o, '}');
}

/* ---- what was decided --------------------------------------------------------------------------- */

void tab_reading_skipped(tab_file_reading *r, size_t lines, const char *reason)
{
    if (lines == 0 || r->skips == TAB_READING_SKIPS)
        return;
    r->skip[r->skips].reason = reason;
    r->skip[r->skips++].lines = lines;
}

tab_str tab_reading_json(tab_arena *a, const tab_file_reading *r)
{
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    tab_out_key(&o, "format");
    tab_out_cstr(&o, r->format);
    if (r->encoding != NULL) {
        tab_out_key(&o, "encoding");
        tab_out_cstr(&o, r->encoding);
    }
    char_member(&o, "delimiter", r->delimiter);
    char_member(&o, "quote", r->quote);
    count_member(&o, "header_rows", r->header_rows);
    tab_out_key(&o, "skipped");
    tab_out_open(&o, '[');
    for (size_t i = 0; i < r->skips; i++) {
        tab_out_open(&o, '{');
        count_member(&o, "lines", (int64_t)r->skip[i].lines);
        tab_out_key(&o, "reason");
        tab_out_cstr(&o, r->skip[i].reason);
        tab_out_close(&o, '}');
    }
    tab_out_close(&o, ']');
    if (r->confidence >= 0) {
        tab_out_key(&o, "confidence");
        tab_out_fixed(&o, r->confidence);
    }
    tab_out_close(&o, '}');
    tab_str json = o.failed ? (tab_str){ NULL, 0 } : tab_arena_copy(a, (tab_str){ o.p, o.n });
    tab_out_free(&o);
    return json;
}
