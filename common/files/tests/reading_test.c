#include <criterion/criterion.h>
#include <stdio.h>

#include "common/files/files.h"

static const tab_file_limits LIMITS = TAB_FILE_LIMITS;

/* The file read as the JSON says, as "status param | id: names; rows / reading" of each table. */
static const char *read_as(tab_arena *a, const char *name, const char *text, size_t n, const char *asked)
{
    tab_reading_asked how;
    tab_error err = { 0 };
    tab_file f;
    char *all;
    cr_assert_eq(tab_reading_ask_json(a, tab_str_of(asked), &how, &err), TAB_OK, "%s", err.message);
    if (tab_file_read_as(a, tab_str_of(name), (tab_str){ text, n }, &LIMITS, &how, &f, &err) != TAB_OK)
        return tab_arena_printf(a, "%s", err.param);
    all = tab_arena_printf(a, "%s", "");
    for (size_t i = 0; i < f.n; i++) {
        all = tab_arena_printf(a, "%s%s%.*s:", all, i > 0 ? "\n" : "", TAB_STR(f.table[i]->id));
        for (size_t k = 0; k < f.table[i]->cols; k++)
            all = tab_arena_printf(a, "%s %.*s", all, TAB_STR(f.table[i]->col[k].name));
        all = tab_arena_printf(a, "%s; %zu %.*s", all, f.table[i]->rows, TAB_STR(f.reading[i]));
    }
    return all;
}

#define REPORT "Sales of 2024;;\n\n# by hand\nName;Turnover;City\nAnn;1,5;Bonn\nBob;2,5;Ulm\nCid;3,5;Kiel\n"

Test(reading, says_what_was_decided)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    const char *got = read_as(a, "r.csv", REPORT, sizeof REPORT - 1, "");
    cr_expect(strstr(got, "r: Name Turnover City; 3 {\"format\":\"csv\",\"encoding\":\"utf-8\","
                          "\"delimiter\":\";\",\"quote\":\"\\\"\",\"header_rows\":1,\"skipped\":["
                          "{\"lines\":1,\"reason\":\"above the header\"},"
                          "{\"lines\":1,\"reason\":\"comments\"}],\"confidence\":0.") == got,
              "%s", got);
    got = read_as(a, "t.csv", "a,b\n\xE9,1\n\xE8,2\n,3\nTotal,6\n", 23, "");
    cr_expect(strstr(got, "\"encoding\":\"windows-1252\"") != NULL, "%s", got);
    cr_expect(strstr(got, "{\"lines\":1,\"reason\":\"totals of the others\"}") != NULL, "%s", got);
    got = read_as(a, "j.json", "[{\"a\":1}]", 9, "");
    cr_expect_str_eq(got, "j: a; 1 {\"format\":\"json\",\"encoding\":\"utf-8\",\"skipped\":[]}");
}

Test(reading, the_sender_overrules)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    static const struct {
        const char *asked, *begins;
    } cases[] = {
        { "{\"delimiter\":\",\",\"skip_lines\":3}", "r: Name;Turnover;City ; 3 " },
        { "{\"skip_lines\":4,\"header_rows\":0}", "r:   ; 3 " },
        { "{\"skip_lines\":4,\"header_rows\":1}", "r: Ann 1,5 Bonn; 2 " },
        { "{\"header_rows\":2}", "r: Name Ann Turnover 1,5 City Bonn; 2 " },
        { "{\"skip_lines\":0,\"header_rows\":1}", "r: Sales of 2024  ; 4 " },
        { "{\"skip_lines\":7}", "options.reading.skip_lines" },
        { "{\"skip_lines\":100}", "options.reading.skip_lines" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = read_as(a, "r.csv", REPORT, sizeof REPORT - 1, cases[i].asked);
        cr_expect(strstr(got, cases[i].begins) == got, "%s: %s", cases[i].asked, got);
    }
}

Test(reading, quotes_and_letters_are_the_senders)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    static const char quotes[] = "a,b\n\"1,2\"\n\"3,4\"\n";
    const char *got = read_as(a, "q.csv", quotes, sizeof quotes - 1, "{\"quote\":\"\",\"delimiter\":\",\"}");
    cr_expect(strstr(got, "q: a b; 2 ") == got && strstr(got, "\"quote\":\"\"") != NULL, "%s", got);
    got = read_as(a, "k.csv", "\xCF,b\n1,2\n3,4\n", 12, "{\"encoding\":\"koi8-r\"}");
    cr_expect(strstr(got, "k: \xD0\xBE b; 2 ") == got, "%s", got);
    got = read_as(a, "k.csv", "\xCF,b\n1,2\n3,4\n", 12, "{\"encoding\":\"Latin-1\"}");
    cr_expect(strstr(got, "k: \xC3\x8F b; 2 ") == got, "%s", got);
}

#define TWO "Region,Sales\nNorth,1\nSouth,2\nWest,3\n\nCity,Rooms\nBonn,12\nUlm,9\nKiel,7\n"

Test(reading, several_tables_stay_one_where_asked)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    const char *got = read_as(a, "two.csv", TWO, sizeof TWO - 1, "");
    cr_expect(strstr(got, "\n") != NULL, "%s", got);
    got = read_as(a, "two.csv", TWO, sizeof TWO - 1, "{\"one_table\":true}");
    cr_expect(strstr(got, "two: Region Sales; 7 ") == got && strstr(got, "\n") == NULL, "%s", got);
}

Test(reading, what_a_format_does_not_leave_open_cannot_be_asked)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    cr_expect_str_eq(read_as(a, "j.json", "[{\"a\":1}]", 9, "{\"delimiter\":\";\"}"),
                     "options.reading.delimiter");
    cr_expect_str_eq(read_as(a, "j.json", "[{\"a\":1}]", 9, "{\"header_rows\":1}"),
                     "options.reading.header_rows");
}

Test(reading, what_is_asked_is_checked)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    static const struct {
        const char *asked, *param;
    } cases[] = {
        { "[]", "options.reading" },
        { "{\"delimeter\":\";\"}", "options.reading" },
        { "{\"delimiter\":\"ab\"}", "options.reading.delimiter" },
        { "{\"delimiter\":\"a\"}", "options.reading.delimiter" },
        { "{\"delimiter\":\"\"}", "options.reading.delimiter" },
        { "{\"delimiter\":1}", "options.reading.delimiter" },
        { "{\"quote\":\"x\"}", "options.reading.quote" },
        { "{\"encoding\":\"utf-7\"}", "options.reading.encoding" },
        { "{\"encoding\":\"utf-8//IGNORE\"}", "options.reading.encoding" },
        { "{\"header_rows\":4}", "options.reading.header_rows" },
        { "{\"header_rows\":0.5}", "options.reading.header_rows" },
        { "{\"skip_lines\":-1}", "options.reading.skip_lines" },
        { "{\"one_table\":1}", "options.reading.one_table" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_reading_asked how;
        tab_error err = { 0 };
        cr_expect_eq(tab_reading_ask_json(a, tab_str_of(cases[i].asked), &how, &err), TAB_VALIDATION, "%s",
                     cases[i].asked);
        cr_expect_str_eq(err.param, cases[i].param, "%s: %s", cases[i].asked, err.param);
    }
}

Test(reading, what_is_asked_is_written_as_it_is_read)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    static const char *const asked[] = {
        "{}",
        "{\"delimiter\":\"\\t\",\"quote\":\"\",\"encoding\":\"koi8-r\",\"header_rows\":0,\"skip_lines\":12}",
        "{\"quote\":\"'\",\"one_table\":true}",
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        tab_reading_asked how;
        tab_out o = { 0 };
        cr_assert_eq(tab_reading_ask_json(a, tab_str_of(asked[i]), &how, NULL), TAB_OK);
        tab_reading_asked_json(&o, &how);
        cr_expect(tab_str_eq((tab_str){ o.p, o.n }, tab_str_of(asked[i])), "%.*s", (int)o.n, o.p);
        tab_out_free(&o);
    }
}
