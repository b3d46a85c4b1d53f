#include "common/json/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const tab_body_limits LIMITS = TAB_BODY_LIMITS;

static tab_status body(tab_arena *a, const char *text, tab_body *ret, tab_error *err)
{
    return tab_body_read(a, tab_str_of(text), &LIMITS, ret, err);
}

Test(body, tables_become_columns_and_the_rest_a_tree)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_body b;
    tab_error err;
    cr_assert(body(a,
                   " {\"base\":\"base-1\", \"tables\" : [ "
                   "{\"id\":\"t\\u0031\",\"columns\":[\"x\",\"\",\"x\"],"
                   "\"rows\":[[1,\"a\\n\\\"\\ud83d\\ude00\",true] , [ null , \"\" , 9007199254740993 ],"
                   "[-1.5e2,\"\xc3\xa9\",null]]},{\"rows\":[[1],[2]],\"columns\":[\"y\"],"
                   "\"id\":\"u\",\"more\":{\"a\":[1,{}]}}],\"options\":{\"confidence_threshold\":0.25}}\n",
                   &b, &err) == TAB_OK,
              "%s: %s", err.param, err.message);
    cr_assert_eq(b.n_tables, 2);
    cr_expect_eq(b.cells, 11);
    const tab_table *t = b.tables[0];
    cr_expect(tab_str_eq(t->id, TAB_S("t1")));
    cr_expect(t->rows == 3 && t->cols == 3);
    cr_expect(tab_str_eq(t->col[2].name, TAB_S("x")));
    cr_expect(t->col[0].layout == TAB_NUMBERS && t->col[0].num[0] == 1 && isnan(t->col[0].num[1]) &&
              t->col[0].num[2] == -150);
    cr_expect(tab_str_eq(tab_cell_at(&t->col[1], 0).text, TAB_S("a\n\"\xF0\x9F\x98\x80")));
    cr_expect(tab_cell_at(&t->col[1], 1).kind == TAB_CELL_TEXT);
    cr_expect(tab_cell_at(&t->col[2], 0).kind == TAB_CELL_BOOL);
    cr_expect(tab_str_eq(tab_cell_at(&t->col[2], 1).text, TAB_S("9007199254740993")));
    cr_expect(b.tables[1]->col[0].num[1] == 2 && tab_str_eq(b.tables[1]->col[0].name, TAB_S("y")));
    const tab_json *threshold = tab_json_get(tab_json_get(b.root, "options"), "confidence_threshold");
    cr_assert_not_null(threshold);
    cr_expect(threshold->kind == TAB_JSON_NUMBER && threshold->num == 0.25);
    cr_expect_null(tab_json_get(b.root, "tables"));
}

#define T1(columns, rows) "{\"tables\":[{\"id\":\"a\",\"columns\":" columns ",\"rows\":" rows "}]}"
#define OK_TABLE "{\"id\":\"a\",\"columns\":[\"x\"],\"rows\":[[1]]}"

Test(body, says_what_is_wrong_and_where)
{
    static const struct {
        const char *text, *param; /* NULL: it is right */
    } cases[] = {
        { "", "body" },
        { "   ", "body" },
        { "null", "body" },
        { "[]", "body" },
        { "\"x\"", "body" },
        { "{}", NULL },
        { "{} {}", "body" },
        { "{},", "body" },
        { "{\"a\":1,}", "body" },
        { "{'a':1}", "body" },
        { "{\"a\":1 /* c */}", "body" },
        { "{\"a\":[1,]}", "body" },
        { "{\"a\":[,1]}", "body" },
        { "{\"a\" 1}", "body" },
        { "{\"a\":1,\"a\":2}", "body" },
        { "{\"tables\":[],\"\\u0074ables\":[]}", "body" },
        { "{\"o\":{\"k\":1,\"\\u006b\":2}}", "body" },
        { "{\"a\":{\"k\":1},\"b\":{\"k\":1}}", NULL },
        { "{\"a\":NaN}", "body" },
        { "{\"a\":Infinity}", "body" },
        { "{\"a\":01}", "body" },
        { "{\"a\":+1}", "body" },
        { "{\"a\":.5}", "body" },
        { "{\"a\":1.}", "body" },
        { "{\"a\":0x10}", "body" },
        { "{\"a\":--1}", "body" },
        { "{\"a\":1e}", "body" },
        { "{\"a\":\"\\ud800\"}", "body" },
        { "{\"a\":\"\\udc00\"}", "body" },
        { "{\"a\":\"\\ud800\\u0041\"}", "body" },
        { "{\"a\":\"\\x\"}", "body" },
        { "{\"a\":\"\\u12g4\"}", "body" },
        { "{\"a\":\"tab\there\"}", "body" },
        { "{\"a\":\"open", "body" },
        { "{\"a\":\"\xff\"}", "body" },
        { "{\"a\":\"\xc0\xaf\"}", "body" },
        { "{\"a\":\"\xed\xa0\x80\"}", "body" },
        { "\xEF\xBB\xBF{}", "body" },
        { "{\"a\":[[[[[[[1]]]]]]]}", NULL },
        { "{\"a\":[[[[[[[[1]]]]]]]]}", "body" },
        { "{\"tables\":{}}", "tables" },
        { "{\"tables\":null}", "tables" },
        { "{\"tables\":[1]}", "tables[0]" },
        { "{\"tables\":[" OK_TABLE "]}", NULL },
        { "{\"tables\":[" OK_TABLE "," OK_TABLE "]}", "tables[1].id" },
        { "{\"tables\":[{\"columns\":[\"x\"],\"rows\":[]}]}", "tables[0].id" },
        { "{\"tables\":[{\"id\":\"a\",\"rows\":[]}]}", "tables[0].columns" },
        { "{\"tables\":[{\"id\":\"a\",\"columns\":[\"x\"]}]}", "tables[0].rows" },
        { "{\"tables\":[{\"id\":\"\",\"columns\":[\"x\"],\"rows\":[]}]}", "tables[0].id" },
        { "{\"tables\":[{\"id\":\"a.b\",\"columns\":[\"x\"],\"rows\":[]}]}", "tables[0].id" },
        { "{\"tables\":[{\"id\":7,\"columns\":[\"x\"],\"rows\":[]}]}", "tables[0].id" },
        { "{\"tables\":[{\"id\":\"a\\u0000\",\"columns\":[\"x\"],\"rows\":[]}]}", "tables[0].id" },
        { T1("[]", "[]"), "tables[0].columns" },
        { T1("[]", "[[]]"), "tables[0].columns" },
        { T1("{}", "[]"), "tables[0].columns" },
        { T1("[\"x\",1]", "[]"), "tables[0].columns[1]" },
        { T1("[\"x\"]", "[]"), NULL },
        { T1("[\"x\"]", "{}"), "tables[0].rows" },
        { T1("[\"x\"]", "[null]"), "tables[0].rows[0]" },
        { T1("[\"x\"]", "[[1],{}]"), "tables[0].rows[1]" },
        { T1("[\"x\"]", "[[1],[1,2]]"), "tables[0].rows" },
        { T1("[\"x\",\"y\"]", "[[1,2],[1]]"), "tables[0].rows" },
        { T1("[\"x\"]", "[[1],[]]"), "tables[0].rows" },
        { T1("[\"x\",\"y\"]", "[[1,2],[1,[2]]]"), "tables[0].rows[1][1]" },
        { T1("[\"x\",\"y\"]", "[[{},2]]"), "tables[0].rows[0][0]" },
        { T1("[\"x\"]", "[[1e999]]"), "tables[0].rows[0][0]" },
        { T1("[\"x\"]", "[[-1e999]]"), "tables[0].rows[0][0]" },
        { T1("[\"x\"]", "[[\"\\u0000\"]]"), "tables[0].rows[0][0]" },
        { T1("[\"x\"]", "[[5e-324],[-0],[\"1E400\"],[2.2250738585072011e-308],[0.1000000000000000055]]"),
          NULL },
        { T1("[\"x\"]", "[[nan]]"), "body" },
        { T1("[\"x\"]", "[[1],]"), "body" },
        { T1("[\"x\"]", "[[1,]]"), "body" },
        { T1("[\"x\"]", "[[1] [1]]"), "body" },
        { "{\"tables\":[{\"rows\":[[1,2],[3]],\"columns\":[\"x\",\"y\"],\"id\":\"a\"}]}", "tables[0].rows" },
        { "{\"tables\":[{\"rows\":[[1,2],[3,4]],\"columns\":[\"x\"],\"id\":\"a\"}]}", "tables[0].rows" },
        { "{\"tables\":[{\"rows\":[],\"columns\":[\"x\"],\"id\":\"a\"}]}", NULL },
        /* wrong in shape and in syntax: syntax is told */
        { "{\"tables\":[{\"id\":1}], \"x\": nope}", "body" },
        { "{\"tables\":7, \"x\": [[[[[[[[1]]]]]]]]}", "body" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
        tab_body b;
        tab_error err = { 0 };
        tab_status st = body(a, cases[i].text, &b, &err);
        if (cases[i].param == NULL)
            cr_expect(st == TAB_OK, "%s: %s: %s", cases[i].text, err.param, err.message);
        else
            cr_expect(st == TAB_VALIDATION && strcmp(err.param, cases[i].param) == 0,
                      "%s: status %d, param %s (%s)", cases[i].text, (int)st, err.param, err.message);
    }
}

static char *many(const char *head, const char *item, size_t n, const char *tail)
{
    size_t h = strlen(head), m = strlen(item);
    char *s = malloc(h + n * m + strlen(tail) + 1), *q = s;
    memcpy(q, head, h);
    q += h;
    for (size_t i = 0; i < n; i++, q += m)
        memcpy(q, item, m);
    strcpy(q, tail);
    return s;
}

Test(body, limits_are_exact_and_named)
{
    static const struct {
        const char *head, *item, *tail, *param;
        size_t n;
    } cases[] = {
        { "{\"tables\":[{\"id\":\"a\",\"rows\":[],\"columns\":[\"x\"", ",\"x\"", "]}]}", NULL, 1999 },
        { "{\"tables\":[{\"id\":\"a\",\"rows\":[],\"columns\":[\"x\"", ",\"x\"", "]}]}", "tables[0].columns",
          2000 },
        { "{\"tables\":[{\"id\":\"a\",\"rows\":[[1", ",1", "]],\"columns\":[\"x\"]}]}", "tables[0].columns",
          2000 },
        { "{\"a\":", "[", "", "body", 100000 },
        { "{\"tables\":[{\"id\":\"", "x", "\",\"columns\":[\"x\"],\"rows\":[]}]}", NULL, 128 },
        { "{\"tables\":[{\"id\":\"", "x", "\",\"columns\":[\"x\"],\"rows\":[]}]}", "tables[0].id", 129 },
        { "{\"tables\":[{\"id\":\"", "\xc3\xa9", "\",\"columns\":[\"x\"],\"rows\":[]}]}", NULL, 128 },
        { "{\"tables\":[{\"id\":\"a\",\"columns\":[\"x\"],\"rows\":[[", "9", "]]}]}", NULL, 1000 },
        { "{\"tables\":[{\"id\":\"a\",\"columns\":[\"x\"],\"rows\":[[0.", "1", "]]}]}",
          "tables[0].rows[0][0]", 1000 },
        { "{\"", "k", "\":1}", NULL, 1024 },
        { "{\"", "k", "\":1}", "body", 1025 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
        char *text = many(cases[i].head, cases[i].item, cases[i].n, cases[i].tail);
        tab_body b;
        tab_error err = { 0 };
        tab_status st = body(a, text, &b, &err);
        if (i == 7) /* a thousand nines are far beyond a double */
            cr_expect(st == TAB_VALIDATION && strcmp(err.param, "tables[0].rows[0][0]") == 0);
        else if (cases[i].param == NULL)
            cr_expect(st == TAB_OK, "case %zu: %s: %s", i, err.param, err.message);
        else
            cr_expect(st == TAB_VALIDATION && strcmp(err.param, cases[i].param) == 0, "case %zu: %d %s %s", i,
                      (int)st, err.param, err.message);
        free(text);
    }
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
    tab_body_limits few = TAB_BODY_LIMITS;
    few.cells = 3;
    few.tables = 1;
    tab_body b;
    tab_error err;
    cr_expect(tab_body_read(a, tab_str_of(T1("[\"x\"]", "[[1],[2],[3]]")), &few, &b, &err) == TAB_OK);
    cr_expect(tab_body_read(a, tab_str_of(T1("[\"x\"]", "[[1],[2],[3],[4]]")), &few, &b, &err) ==
              TAB_VALIDATION);
    cr_expect_str_eq(err.param, "tables");
    few.cells = 100;
    few.rows = 2;
    cr_expect(tab_body_read(a, tab_str_of(T1("[\"x\"]", "[[1],[2],[3]]")), &few, &b, &err) == TAB_VALIDATION);
    char *two = many("{\"tables\":[", OK_TABLE "," OK_TABLE, 1, "]}");
    cr_expect(tab_body_read(a, tab_str_of(two), &few, &b, &err) == TAB_VALIDATION);
    cr_expect_str_eq(err.param, "tables");
    free(two);
}

/* An array of two objects: one of n keys, then one of `again` keys that begin with the same names; with
 * `twice`, the key of that number stands once more at the end of the second. */
static tab_status two_objects(size_t n, size_t again, ptrdiff_t twice, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
    char *text = malloc(64 * (n + again + 2)), *q = text;
    const tab_json *root;
    q += sprintf(q, "[{");
    for (size_t i = 0; i < n; i++) /* \\u0061: keys with an escape lie in the reader's scratch */
        q += sprintf(q, "%s\"%s%zu\":1", i == 0 ? "" : ",", i % 3 == 0 ? "\\u0061" : "k", i);
    q += sprintf(q, "},{");
    for (size_t i = 0; i < again; i++)
        q += sprintf(q, "%s\"%s%zu\":{\"k%zu\":2}", i == 0 ? "" : ",", i % 3 == 0 ? "a" : "k", i, i);
    if (twice >= 0)
        q += sprintf(q, ",\"%s%td\":3", twice % 3 == 0 ? "\\u0061" : "k", twice);
    sprintf(q, "}]");
    tab_status s = tab_json_read(a, tab_str_of(text), 8, &root, err);
    free(text);
    return s;
}

Test(body, a_repeated_key_is_found_in_objects_of_any_size)
{
    static const size_t sizes[] = { 1, 2, 11, 12, 13, 14, 40, 300, 1023, 1024 };
    enum { N = sizeof sizes / sizeof *sizes };
    tab_error err;
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++) {
            size_t n = sizes[k];
            cr_assert_eq(two_objects(sizes[i], n, -1, &err), TAB_OK, "%zu, %zu: %s", sizes[i], n,
                         err.message);
            for (size_t step = n / 7 + 1, t = 0; t < n && n < 1024; t += step) {
                cr_assert_eq(two_objects(sizes[i], n, (ptrdiff_t)t, &err), TAB_VALIDATION,
                             "%zu, %zu: key %zu twice", sizes[i], n, t);
                cr_assert(strstr(err.message, "a repeated key") != NULL, "%s", err.message);
            }
        }
    cr_assert_eq(two_objects(1, 1025, -1, &err), TAB_VALIDATION);
    cr_assert(strstr(err.message, "more keys") != NULL, "%s", err.message);
}

Test(number, keeps_what_a_double_holds_and_the_digits_of_the_rest)
{
    static const struct {
        const char *text;
        tab_number_kind kind;
    } cases[] = {
        { "0", TAB_NUMBER_EXACT },
        { "-0", TAB_NUMBER_EXACT },
        { "0.1", TAB_NUMBER_EXACT },
        { "1.50", TAB_NUMBER_EXACT },
        { "100000000000000000000e-20", TAB_NUMBER_EXACT },
        { "0.30000000000000004", TAB_NUMBER_EXACT },
        { "0.30000000000000000000000", TAB_NUMBER_EXACT },
        { "0.10000000000000000", TAB_NUMBER_EXACT },
        { "8437.5023432199996", TAB_NUMBER_EXACT },
        { "1234567890123456.8", TAB_NUMBER_EXACT },
        { "1.2345678901234567e-290", TAB_NUMBER_DIGITS },
        { "0.1000000000000000055", TAB_NUMBER_DIGITS },
        { "123456789012345.67", TAB_NUMBER_EXACT },
        { "9007199254740992", TAB_NUMBER_EXACT },
        { "9007199254740993", TAB_NUMBER_DIGITS },
        { "9007199254740994", TAB_NUMBER_DIGITS },
        { "-9007199254740993", TAB_NUMBER_DIGITS },
        { "12345678901234567890", TAB_NUMBER_DIGITS },
        { "1e22", TAB_NUMBER_EXACT },
        { "1e300", TAB_NUMBER_EXACT },
        { "1.7976931348623157e308", TAB_NUMBER_EXACT },
        { "1.8e308", TAB_NUMBER_RANGE },
        { "1e999999999999999999999", TAB_NUMBER_RANGE },
        { "1e-999999999999999999999", TAB_NUMBER_DIGITS },
        { "5e-324", TAB_NUMBER_EXACT },
        { "2.2250738585072014e-308", TAB_NUMBER_EXACT },
        { "2.2250738585072011e-308", TAB_NUMBER_DIGITS },
        { "1", TAB_NUMBER_EXACT },
        { "-", TAB_NUMBER_NONE },
        { "x", TAB_NUMBER_NONE },
        { "1.e5", TAB_NUMBER_NONE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 0;
        double x = 0;
        const char *t = cases[i].text;
        tab_number_kind k = tab_number_read(t, t + strlen(t), &n, &x);
        cr_expect_eq(k, cases[i].kind, "%s: %d", t, (int)k);
        if (k == TAB_NUMBER_EXACT)
            cr_expect(x == strtod(t, NULL) && signbit(x) == (t[0] == '-') && n == strlen(t), "%s: %.17g", t,
                      x);
    }
    /* Against strtod, over random bits of three kinds. */
    srand48(7);
    for (int i = 0; i < 200000; i++) {
        char t[64];
        int kind = i % 3, digits = 1 + (int)(lrand48() % 17);
        if (kind == 0)
            snprintf(t, sizeof t, "%.*g", digits, (drand48() - 0.5) * pow(10, (double)(lrand48() % 40 - 20)));
        else if (kind == 1)
            snprintf(t, sizeof t, "%ld.%0*ld", lrand48() % 100000, 1 + digits % 9, lrand48() % 10);
        else
            snprintf(t, sizeof t, "%.*e", digits,
                     (drand48() - 0.5) * pow(10, (double)(lrand48() % 600 - 300)));
        size_t n = 0;
        double x = 0;
        tab_number_kind k = tab_number_read(t, t + strlen(t), &n, &x);
        cr_assert(n == strlen(t) && (k == TAB_NUMBER_EXACT || k == TAB_NUMBER_DIGITS), "%s: %d", t, (int)k);
        cr_assert(x == strtod(t, NULL), "%s: %.17g, strtod %.17g", t, x, strtod(t, NULL));
        if (digits + (kind == 2) <= 15 && kind != 1)
            cr_assert_eq(k, TAB_NUMBER_EXACT, "%s", t);
    }
}

static void expect_text(tab_out *o, const char *want)
{
    cr_expect(!o->failed && tab_str_eq(tab_out_text(o), tab_str_of(want)), "%.*s, not %s", (int)o->n, o->p,
              want);
    tab_out_free(o);
}

Test(out, writes_values_with_their_commas)
{
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    tab_out_key(&o, "a");
    tab_out_open(&o, '[');
    tab_out_int(&o, -5);
    tab_out_uint(&o, UINT64_MAX);
    tab_out_int(&o, INT64_MIN);
    tab_out_open(&o, '{');
    tab_out_close(&o, '}');
    tab_out_null(&o);
    tab_out_bool(&o, true);
    tab_out_close(&o, ']');
    tab_out_key_str(&o, TAB_S("k\"\x01\x7f\n"));
    tab_out_str(&o, TAB_S("\xc3\xa9\xff\xed\xa0\x80z"));
    tab_out_close(&o, '}');
    expect_text(&o,
                "{\"a\":[-5,18446744073709551615,-9223372036854775808,{},null,true],"
                "\"k\\\"\\u0001\\u007f\\n\":\"\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\"}");
}

Test(out, rounds_figures)
{
    static const struct {
        double x;
        const char *fixed, *real;
    } cases[] = {
        { 0, "0", "0" },
        { 1, "1", "1" },
        { -0.5, "-0.5", "-0.5" },
        { 1.0 / 3, "0.333333", "0.333333333" },
        { 2.0 / 3, "0.666667", "0.666666667" },
        { 0.9999999, "1", "0.9999999" },
        { 1e-7, "0", "1e-07" },
        { -1e-9, "0", "-1e-09" },
        { 123456.7891234, "123456.789123", "123456.789" },
        { 1234567891, "1234567891", "1234567890" },
        { 999999999.7, "999999999.7", "1000000000" },
        { 1.23456789012e20, "1.23456789e+20", "1.23456789e+20" },
        { 0.00001234567891234, "0.000012", "0.0000123456789" },
        { (double)NAN, "null", "null" },
        { (double)INFINITY, "null", "null" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_out o = { 0 };
        tab_out_fixed(&o, cases[i].x);
        expect_text(&o, cases[i].fixed);
        tab_out_real(&o, cases[i].x);
        expect_text(&o, cases[i].real);
    }
    srand48(11);
    for (int i = 0; i < 100000; i++) {
        double x = (drand48() - 0.5) * pow(10, (double)(lrand48() % 60 - 30));
        tab_out o = { 0 };
        tab_out_real(&o, x);
        tab_out_bytes(&o, "", 0);
        double back = strtod(o.p, NULL);
        cr_assert(fabs(back - x) <= 0.51e-8 * fabs(x), "%.17g: %s", x, o.p);
        tab_out_free(&o);
    }
}
