/* Files of every format, and hostile ones: each ends in an error that says what to do. */
#include "common/files/files.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "common/files/unpack.h"

static const tab_file_limits LIMITS = TAB_FILE_LIMITS;

static tab_file read_ok(tab_arena *a, const char *name, const char *bytes, size_t n)
{
    tab_file f = { 0 };
    tab_error err = { 0 };
    cr_assert(tab_file_read(a, tab_str_of(name), (tab_str){ bytes, n }, &LIMITS, &f, &err) == TAB_OK, "%s",
              err.message);
    return f;
}
#define READ(a, name, text) read_ok(a, name, text, sizeof text - 1)

/* The message of what cannot be read. */
static const char *refused(tab_arena *a, const char *name, const char *bytes, size_t n)
{
    static tab_error err;
    tab_file f;
    err = (tab_error){ 0 };
    cr_assert(tab_file_read(a, tab_str_of(name), (tab_str){ bytes, n }, &LIMITS, &f, &err) == TAB_VALIDATION);
    return err.message;
}
#define EXPECT_REFUSED(a, name, bytes, n, why)                  \
    do {                                                        \
        const char *message = refused(a, name, bytes, n);       \
        cr_expect(strstr(message, why) != NULL, "%s", message); \
    } while (0)

static void expect(const tab_table *t, size_t row, size_t col, const char *want)
{
    tab_cell x = tab_cell_at(&t->col[col], row);
    char buf[32];
    tab_str s = x.text;
    if (x.kind == TAB_CELL_NUMBER && s.n == 0)
        s = (tab_str){ buf, tab_number_text(x.num, buf) };
    cr_expect(x.kind == TAB_CELL_NULL ? want == NULL : want != NULL && tab_str_eq(s, tab_str_of(want)),
              "row %zu column %zu: %.*s", row, col, (int)s.n, s.p);
}

/* ---- archives, made here ----------------------------------------------------------------------- */

static void le(tab_grown *g, uint32_t x, size_t n)
{
    char b[4] = { (char)x, (char)(x >> 8), (char)(x >> 16), (char)(x >> 24) };
    cr_assert(tab_grown_add(g, b, n, NULL) == TAB_OK);
}

static void text(tab_grown *g, const char *p, size_t n)
{
    cr_assert(tab_grown_add(g, p, n, NULL) == TAB_OK);
}

/* An archive whose entries are stored: pairs of a name and a text, NULL at the end. lie: added to the packed
 * sizes that the directory declares. */
static tab_grown zip_of(const char *const *part, uint32_t lie)
{
    tab_grown file = { 0 }, directory = { 0 };
    size_t n = 0;
    for (; part[2 * n] != NULL; n++) {
        const char *name = part[2 * n], *body = part[2 * n + 1];
        uint32_t at = (uint32_t)file.n, size = (uint32_t)strlen(body), len = (uint32_t)strlen(name);
        uint32_t crc = (uint32_t)crc32(0, (const Bytef *)body, size);
        text(&file, "PK\3\4\24\0\0\0\0\0\0\0\0\0", 14);
        le(&file, crc, 4), le(&file, size, 4), le(&file, size, 4), le(&file, len, 4);
        text(&file, name, len);
        text(&file, body, size);
        text(&directory, "PK\1\2\24\0\24\0\0\0\0\0\0\0\0\0", 16);
        le(&directory, crc, 4), le(&directory, size + lie, 4), le(&directory, size, 4),
            le(&directory, len, 4);
        le(&directory, 0, 4), le(&directory, 0, 4), le(&directory, 0, 2), le(&directory, at, 4);
        text(&directory, name, len);
    }
    uint32_t at = (uint32_t)file.n;
    text(&file, directory.p, directory.n);
    text(&file, "PK\5\6\0\0\0\0", 8);
    le(&file, (uint32_t)n, 2), le(&file, (uint32_t)n, 2), le(&file, (uint32_t)directory.n, 4);
    le(&file, at, 4), le(&file, 0, 2);
    free(directory.p);
    return file;
}

/* bits 31: gzip. `times` times the same text. */
static tab_grown packed(const char *p, size_t n, size_t times)
{
    tab_grown g = { 0 };
    char out[1 << 16];
    z_stream z = { 0 };
    cr_assert(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    for (size_t i = 0; i <= times; i++) {
        z.next_in = (Bytef *)(uintptr_t)p;
        z.avail_in = i < times ? (uInt)n : 0;
        do {
            z.next_out = (Bytef *)out;
            z.avail_out = sizeof out;
            deflate(&z, i < times ? Z_NO_FLUSH : Z_FINISH);
            text(&g, out, sizeof out - z.avail_out);
        } while (z.avail_out == 0);
    }
    deflateEnd(&z);
    return g;
}

/* ---- formats ------------------------------------------------------------------------------------- */

Test(files, json_in_every_layout)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_file f = READ(a, "x/a.b.json",
                      "[{\"id\":1,\"o\":{\"p\":{\"q\":true},\"r\":null}},{\"n\":[1,2],\"id\":\"x\"}]");
    const tab_table *t = f.table[0];
    cr_assert(f.n == 1 && t->rows == 2 && t->cols == 4 && tab_str_eq(t->id, TAB_S("a_b")));
    cr_expect(tab_str_eq(t->col[1].name, TAB_S("o.p.q")) && tab_str_eq(t->col[3].name, TAB_S("n")));
    expect(t, 0, 0, "1");
    expect(t, 1, 1, NULL);
    expect(t, 1, 3, "[1,2]");
    t = READ(a, "lines", "{\"a\":1}\n\n{\"b\":9007199254740993}\n{}\n").table[0];
    cr_assert(t->rows == 3 && t->cols == 2);
    expect(t, 1, 1, "9007199254740993");
    t = READ(a, "api.json", "{\"page\":1,\"tags\":[1],\"items\":[{\"a\":1},{\"a\":2}]}").table[0];
    cr_expect(t->rows == 2 && t->cols == 1);
    f = READ(a, "one.json", "\xEF\xBB\xBF{\"x\":[{\"a\":1}],\"y\":[{\"a\":1},{\"b\":2}]}");
    cr_assert(f.n == 2 && tab_str_eq(f.table[1]->id, TAB_S("one_y")));
    cr_expect(f.table[0]->cols == 1 && f.table[1]->rows == 2 && f.table[1]->cols == 2);
    t = READ(a, "v.json", "[1,\"two\",null]").table[0];
    cr_expect(t->rows == 3 && tab_str_eq(t->col[0].name, TAB_S("value")));
}

Test(files, lists_of_objects_are_tables_that_refer_to_their_rows)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    static const char text[] = "[{\"id\":7,\"l\":[{\"a\":1},{\"a\":2}],\"t\":[\"x\"]},{\"id\":9,\"l\":[]},"
                               "{\"id\":8},{\"id\":5,\"l\":[{\"o_id\":3,\"a\":4}]}]";
    tab_file f = READ(a, "o.json", text);
    cr_assert(f.n == 2 && f.table[0]->cols == 2 && f.table[1]->rows == 3 && f.table[1]->cols == 3);
    cr_expect(tab_str_eq(f.table[1]->id, TAB_S("o_l")) && tab_str_eq(f.sheet[1], TAB_S("l")));
    cr_expect(tab_str_eq(f.table[1]->col[0].name, TAB_S("o_id_"))); /* o_id is taken */
    expect(f.table[1], 1, 0, "7");
    expect(f.table[1], 2, 0, "5");
    expect(f.table[1], 2, 1, "4");
    /* no column tells rows apart: they are counted; a text that is no list is none */
    f = READ(a, "o.json", "[{\"l\":[{\"a\":1}],\"x\":\"[{\"},{\"l\":[{\"a\":2}],\"x\":\"[{\"}]");
    cr_assert(f.n == 2 && f.table[0]->cols == 2 && tab_str_eq(f.table[0]->col[0].name, TAB_S("row")));
    expect(f.table[1], 1, 0, "2");
    expect(f.table[0], 1, 1, "[{");
}

Test(files, json_that_is_none)
{
    static const char *const bad[][2] = { { "[{\"a\":1},]", "byte 9" },
                                          { "{\"a\":1}\n{\"a\":", "not valid JSON" },
                                          { "[{\"a.b\":1,\"a\":{\"b\":2}}]",
                                            "two fields have the same name" },
                                          { "[]", "no rows" },
                                          { "[{\"a\":\"\\u0000\"}]", "NUL character" } };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT_REFUSED(a, "x.json", bad[i][0], strlen(bad[i][0]), bad[i][1]);
    size_t n = 10000000;
    char *deep = malloc(n + 1);
    memset(deep, '[', n);
    deep[n] = 0;
    EXPECT_REFUSED(a, "x.json", deep, n, "nested deeper");
    free(deep);
}

Test(files, packed_ones)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_grown g = packed("a,b\n1,x\n", 8, 1);
    tab_file f = read_ok(a, "d/sales.csv.gz", g.p, g.n);
    cr_expect(f.n == 1 && f.table[0]->rows == 1 && tab_str_eq(f.table[0]->id, TAB_S("sales")));
    EXPECT_REFUSED(a, "sales.csv.gz", g.p, g.n - 9, "truncated");
    tab_grown twice = packed(g.p, g.n, 1);
    EXPECT_REFUSED(a, "x.gz", twice.p, twice.n, "compressed twice");
    free(twice.p);
    free(g.p);

    const char *const part[] = { "in/",         "",          "in/a.csv", "a,b\n1,2\n", "__MACOSX/x", "",
                                 "in/b.ndjson", "{\"q\":1}", "b.csv",    "z\n1\n",     NULL };
    g = zip_of(part, 0);
    f = read_ok(a, "all.zip", g.p, g.n);
    cr_assert(f.n == 3);
    cr_expect(tab_str_eq(f.table[1]->id, TAB_S("b")) && tab_str_eq(f.table[2]->id, TAB_S("b_2")));
    EXPECT_REFUSED(a, "all.zip", g.p, g.n - 30, "truncated");
    g.p[strlen("PK") + 28 + strlen("in/")] ^= 1; /* a local header */
    EXPECT_REFUSED(a, "all.zip", g.p, g.n, "damaged");
    free(g.p);
    const char *const letter[] = { "[Content_Types].xml", "<Types/>", "word/document.xml", "<w/>", NULL };
    g = zip_of(letter, 0);
    EXPECT_REFUSED(a, "letter.docx", g.p, g.n, "word processor");
    free(g.p);
    const char *const slides[] = { "ppt/presentation.xml", "<p/>", NULL };
    g = zip_of(slides, 0);
    EXPECT_REFUSED(a, "slides.pptx", g.p, g.n, "presentation");
    free(g.p);
    const char *const one[] = { "a.csv", "a,b\n1,2\n", NULL };
    g = zip_of(one, 1000000);
    EXPECT_REFUSED(a, "lies.zip", g.p, g.n, "damaged");
    free(g.p);
    g = zip_of(one, (uint32_t)-3);
    EXPECT_REFUSED(a, "lies.zip", g.p, g.n, "checksum");
    free(g.p);
}

Test(files, a_bomb_ends_by_its_ratio)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    size_t n = 1 << 20;
    char *zeros = calloc(n, 1);
    tab_grown g = packed(zeros, n, 300);
    EXPECT_REFUSED(a, "x.csv.gz", g.p, g.n, "200 times");
    free(zeros);
    free(g.p);
}

Test(files, what_is_not_read_says_the_way_out)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    EXPECT_REFUSED(a, "x.parquet", "PAR1....", 8, "truncated");
    EXPECT_REFUSED(a, "x.parquet", "PARE........PARE", 16, "encrypted");
    EXPECT_REFUSED(a, "x.xls", "\xD0\xCF\x11\xE0....", 8, "save it as .xlsx");
    EXPECT_REFUSED(a, "x.csv.zst", "\x28\xB5\x2F\xFD", 4, "gzip");
    EXPECT_REFUSED(a, "empty.csv", "", 0, "empty");
}

/* ---- workbooks ------------------------------------------------------------------------------------ */

#define BOOK                                                                                                \
    "xl/workbook.xml",                                                                                      \
        "<workbook xmlns:r='r'><sheets><sheet name='S1' sheetId='1' r:id='r1'/>"                            \
        "<sheet name='gone' sheetId='2' state='hidden' r:id='r1'/><sheet name='S2' sheetId='3' r:id='r2'/>" \
        "</sheets></workbook>",                                                                             \
        "xl/_rels/workbook.xml.rels",                                                                       \
        "<Relationships><Relationship Id='r1' Target='worksheets/one.xml'/>"                                \
        "<Relationship Id='r2' Target='/xl/two.xml'/></Relationships>",                                     \
        "xl/styles.xml",                                                                                    \
        "<styleSheet><numFmts><numFmt numFmtId='164' formatCode='[Red]yyyy\\-mm &quot;h&quot;'/></numFmts>" \
        "<cellStyleXfs><xf numFmtId='14'/></cellStyleXfs><cellXfs><xf numFmtId='0'/><xf numFmtId='164'/>"   \
        "<xf numFmtId='22'/><xf numFmtId='20'/></cellXfs></styleSheet>",                                    \
        "xl/sharedStrings.xml",                                                                             \
        "<sst><si><t>name</t></si><si><r><t>b</t></r><r><t>ob</t></r><rPh><t>no</t></rPh></si></sst>"

Test(files, bytes_that_are_no_table_are_told_what_they_are)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)64 << 20);
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *why;
    } cases[] = {
#define BYTES(text) text, sizeof text - 1
        { "logo.csv", BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR,\n1,2\n3,4\n"), "an image" },
        { "photo.csv", BYTES("\xFF\xD8\xFF\xE0\0\x10JFIF\0,,\n1,2\n"), "an image" },
        { "song.csv", BYTES("ID3\4\0\0,\n1,2\n"), "an audio file" },
        { "a.csv", BYTES("\177ELF\2\1\1,\n1,2\n"), "a program" },
        { "a.csv", BYTES("\xEF\xBB\xBF \n<!DOCTYPE html>\n<html><p>Please, sign in, now</html>\n"),
          "a web page" },
        { "a.html", BYTES("<HTML lang=\"en\">\n<p>a,b</p>\n"), "a web page" },
        { "a.csv", BYTES("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"), "XML" },
        { "a.csv", BYTES("{\\rtf1 a,b}\n1,2\n"), "a word processor document" },
        { "a.csv", BYTES(""), "it is empty" },
        { "a.csv", BYTES(" \r\n\n\t"), "it is empty" },
        { "a.json", BYTES("\n"), "it is empty" },
        { "a.csv", BYTES("\0\0\0\0\0\0\0\0"), "NUL bytes" },
        { "a.csv", BYTES("a,b\n\1\2\3\4\5,\6\n\x0e\x0f\x10,\x11\n"), "neither text" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_REFUSED(a, cases[i].name, cases[i].bytes, cases[i].n, cases[i].why);
    cr_expect_eq(READ(a, "a.csv", "<script>,b\n1,2\n").n, 1, "a column may have such a name");
    cr_expect_eq(READ(a, "a.csv",
                      "a\x1f"
                      "b\n1\x1f"
                      "2\n")
                     .n,
                 1, "ASCII has separators of its own");
}

Test(files, a_gzip_that_is_cut_off_anywhere)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)64 << 20);
    char plain[4000], packed[8000];
    size_t n = (size_t)snprintf(plain, sizeof plain, "a,b\n");
    for (int i = 0; i < 299; i++)
        n += (size_t)snprintf(plain + n, sizeof plain - n, "%d,%d\n", i, i * 37 % 101);
    z_stream z = { 0 };
    cr_assert(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (Bytef *)plain;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)packed;
    z.avail_out = sizeof packed;
    cr_assert(deflate(&z, Z_FINISH) == Z_STREAM_END);
    size_t whole = z.total_out;
    deflateEnd(&z);
    cr_expect_eq(read_ok(a, "t.csv.gz", packed, whole).table[0]->rows, 299);
    for (size_t cut = 1; cut < whole - 2; cut++)
        EXPECT_REFUSED(a, "t.csv.gz", packed, whole - cut, "truncated");
}

Test(files, xlsx_sheets_dates_and_gaps)
{
    const char *const part[] = {
        BOOK,
        "xl/worksheets/one.xml",
        "<worksheet><sheetData><row r='2'><c r='B2' t='inlineStr'><is><t>A title</t></is></c></row>"
        "<row r='3'><c r='C3' t='s'><v>0</v></c><c r='D3' t='str'><v>day</v></c>"
        "<c r='E3' t='str'><v>at</v></c><c t='str'><v>ok</v></c></row>"
        "<row r='4'><c r='C4' t='s'><v>1</v></c><c r='D4' s='1'><v>43831</v></c>"
        "<c r='E4' s='2'><f>1+1</f><v>43831.5</v></c><c r='F4' t='b'><v>1</v></c></row>"
        "<row r='6'><c r='C6'><v>2.5</v></c><c r='D6' s='1'><v>1</v></c><c r='E6' s='3'><v>0.75</v></c></row>"
        "</sheetData><extra><v>9</v></extra></worksheet>",
        "xl/two.xml",
        "<x:worksheet xmlns:x='u'><x:sheetData><x:row><x:c><x:v>1</x:v></x:c></x:row></x:sheetData>"
        "</x:worksheet>",
        NULL
    };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_grown g = zip_of(part, 0);
    tab_file f = read_ok(a, "b.xlsx", g.p, g.n);
    free(g.p);
    cr_assert(f.n == 2 && tab_str_eq(f.table[0]->id, TAB_S("b_S1")) &&
              tab_str_eq(f.table[1]->id, TAB_S("b_S2")));
    const tab_table *t = f.table[0];
    cr_assert(t->rows == 3 && t->cols == 4 && tab_str_eq(t->col[1].name, TAB_S("day")));
    expect(t, 0, 0, "bob");
    expect(t, 0, 1, "2020-01-01");
    expect(t, 0, 2, "2020-01-01T12:00:00");
    expect(t, 0, 3, "true");
    expect(t, 1, 0, NULL);
    expect(t, 2, 0, "2.5");
    expect(t, 2, 1, "1900-01-01");
    expect(t, 2, 2, "18:00:00");
}

#define SHEET(rows) "<worksheet><sheetData>" rows "</sheetData></worksheet>"
#define ROW(cells) "<row>" cells "</row>"
#define TEXT(text) "<c t='inlineStr'><is><t>" text "</t></is></c>"

Test(files, a_sheet_of_notes_is_no_table)
{
    static const char one[] = SHEET(ROW(TEXT("id") TEXT("name")) ROW("<c><v>1</v></c>" TEXT("ann")));
    static const char two[] =
        SHEET(ROW(TEXT("These figures were made by us.")) ROW(TEXT("Ask Ann for what is missing.")));
    const char *const part[] = { BOOK, "xl/worksheets/one.xml", one, "xl/two.xml", two, NULL };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_grown g = zip_of(part, 0);
    tab_file f = read_ok(a, "b.xlsx", g.p, g.n);
    cr_assert(f.n == 1 && tab_str_eq(f.table[0]->id, TAB_S("b")) && f.table[0]->rows == 1);
    cr_expect(strstr(f.notes.p, "notes but no table") != NULL, "%.*s", TAB_STR(f.notes));
    free(g.p);
    const char *const alone[] = { BOOK, "xl/worksheets/one.xml", "<worksheet/>", "xl/two.xml", two, NULL };
    g = zip_of(alone, 0);
    cr_expect_eq(read_ok(a, "b.xlsx", g.p, g.n).n, 1, "of notes alone, all are read");
    free(g.p);
    static const char short_ones[] =
        SHEET(ROW(TEXT("Prepared by Ann")) ROW("") ROW(TEXT("Figures are provisional")));
    const char *const gaps[] = { BOOK, "xl/worksheets/one.xml", one, "xl/two.xml", short_ones, NULL };
    g = zip_of(gaps, 0);
    cr_expect_eq(read_ok(a, "b.xlsx", g.p, g.n).n, 1, "a few words with gaps between them");
    free(g.p);
    static const char names[] = SHEET(ROW(TEXT("Name")) ROW(TEXT("Ann Lee")) ROW("") ROW(TEXT("Bob Fox")));
    const char *const list[] = { BOOK, "xl/worksheets/one.xml", one, "xl/two.xml", names, NULL };
    g = zip_of(list, 0);
    cr_expect_eq(read_ok(a, "b.xlsx", g.p, g.n).n, 2, "a list under its name is a table");
    free(g.p);
    static const char word[] = SHEET(ROW(TEXT("Draft")));
    const char *const cell[] = { BOOK, "xl/worksheets/one.xml", one, "xl/two.xml", word, NULL };
    g = zip_of(cell, 0);
    cr_expect_eq(read_ok(a, "b.xlsx", g.p, g.n).n, 1, "one cell is no table");
    free(g.p);
}

#define N(x) "<c><v>" x "</v></c>"

Test(files, tables_of_one_sheet)
{
    static const char one[] = SHEET(
        ROW(TEXT("Sales")) ROW("") ROW(TEXT("Region") TEXT("Jul") TEXT("Aug"))
            ROW(TEXT("North") N("1") N("2")) ROW(TEXT("South") N("2") N("3")) ROW("") ROW(TEXT("Staff"))
                ROW(TEXT("Name") TEXT("Age") TEXT("City")) ROW(TEXT("Ann") N("31") TEXT("Bonn"))
                    ROW(TEXT("Bob") N("44") TEXT("Ulm")) ROW("") ROW(TEXT("Source: the ledger of 2024")));
    const char *const part[] = { BOOK, "xl/worksheets/one.xml", one, "xl/two.xml", "<worksheet/>", NULL };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_grown g = zip_of(part, 0);
    tab_file f = read_ok(a, "b.xlsx", g.p, g.n);
    free(g.p);
    cr_assert(f.n == 2 && tab_str_eq(f.table[0]->id, TAB_S("b_Sales")) &&
              tab_str_eq(f.table[1]->id, TAB_S("b_Staff")));
    cr_expect(f.table[0]->rows == 2 && f.table[0]->col[1].layout == TAB_NUMBERS);
    cr_expect(f.table[1]->rows == 2 && f.table[1]->col[1].layout == TAB_NUMBERS);
    expect(f.table[1], 1, 2, "Ulm");
    cr_expect(strstr(f.notes.p, "the file contains 2 tables") != NULL &&
                  strstr(f.notes.p, "1 lines of notes below") != NULL,
              "%.*s", TAB_STR(f.notes));
}

static void expect_sheet_refused(const char *sheet, const char *why)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
    const char *const part[] = { BOOK, "xl/worksheets/one.xml", sheet, "xl/two.xml", "<worksheet/>", NULL };
    tab_grown g = zip_of(part, 0);
    EXPECT_REFUSED(a, "b.xlsx", g.p, g.n, why);
    free(g.p);
}

Test(files, hostile_xml)
{
    expect_sheet_refused("<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><worksheet>&b;</worksheet>",
                         "document type");
    expect_sheet_refused(
        "<worksheet><sheetData><row><c r='A99999999'><v>1</v></c></row></sheetData></worksheet>",
        "reference");
    expect_sheet_refused("<worksheet><sheetData><row><c r='ZZZ1'><v>1</v></c></row></sheetData></worksheet>",
                         "reference");
    expect_sheet_refused(
        "<worksheet><sheetData><row><c r='B2'><v>1</v></c><c r='A1'><v>1</v></c></row></sheetData>",
        "out of order");
    expect_sheet_refused(
        "<worksheet><sheetData><row><c r='A1'><v>1</v></c></row><row><c r='BZZ9000000'><v>1</v>"
        "</c></row></sheetData></worksheet>",
        "columns");
    expect_sheet_refused(
        "<worksheet><sheetData><row><c r='BXX1'><v>1</v></c></row><row><c r='A9000000'><v>1</v>"
        "</c></row></sheetData></worksheet>",
        "cells");
    expect_sheet_refused("<worksheet><sheetData><row>", "truncated");
    char deep[400] = "";
    for (size_t i = 0; i < 100; i++)
        strcat(deep, "<a>");
    expect_sheet_refused(deep, "nested deeper");
}

/* Excel names what is merged behind the rows, OpenDocument at the cell; a title over columns is none. */
Test(files, a_cell_merged_over_rows_counts_for_each)
{
    static const char excel[] =
        "<worksheet><sheetData><row><c t='str'><v>Report</v></c></row>"
        "<row><c t='str'><v>Region</v></c><c t='str'><v>City</v></c><c t='str'><v>Sales</v></c></row>"
        "<row><c t='str'><v>North</v></c><c t='str'><v>Kiel</v></c><c><v>1</v></c></row>"
        "<row><c r='B4' t='str'><v>Ulm</v></c><c r='C4'><v>2</v></c></row>"
        "<row><c t='str'><v>South</v></c><c t='str'><v>Bonn</v></c><c><v>3</v></c></row>"
        "<row><c r='C6'><v>4</v></c></row>"
        "</sheetData><mergeCells count='5'><mergeCell ref='A5:A6'/><mergeCell ref='A1:C1'/>"
        "<mergeCell ref='A3:A4'/><mergeCell ref='A'/><mergeCell ref='XFD1:XFD9'/></mergeCells></worksheet>";
    static const char open[] = "<d xmlns:t='t' xmlns:o='o' xmlns:x='x'><t:table t:name='S'>"
#define CELL(more, text) "<t:table-cell o:value-type='string'" more "><x:p>" text "</x:p></t:table-cell>"
#define LINE(cells) "<t:table-row>" cells "</t:table-row>"
        LINE(CELL("", "Region") CELL("", "City"))
            LINE(CELL(" t:number-rows-spanned='2'", "North") CELL("", "Kiel"))
                LINE("<t:covered-table-cell/>" CELL("", "Ulm")) LINE(CELL("", "South") CELL("", "Bonn"))
                    LINE("<t:table-cell/>" CELL("", "Mainz")) "</t:table></d>";
    const char *const x[] = { BOOK, "xl/worksheets/one.xml", excel, "xl/two.xml", "<worksheet/>", NULL };
    const char *const o[] = { "mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml",
                              open, NULL };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_grown g = zip_of(x, 0);
    tab_file f = read_ok(a, "b.xlsx", g.p, g.n);
    free(g.p);
    cr_assert(f.n == 1 && f.table[0]->rows == 4);
    expect(f.table[0], 1, 0, "North");
    expect(f.table[0], 3, 0, "South");
    expect(f.table[0], 3, 1, NULL);
    cr_expect(strstr(f.notes.p, "2 merged cells were repeated in each of their rows") != NULL, "%.*s",
              TAB_STR(f.notes));
    g = zip_of(o, 0);
    f = read_ok(a, "b.ods", g.p, g.n);
    free(g.p);
    cr_assert(f.n == 1 && f.table[0]->rows == 4);
    expect(f.table[0], 1, 0, "North");
    expect(f.table[0], 3, 0, NULL);
    char many[16000];
    size_t n = (size_t)snprintf(many, sizeof many,
                                "<worksheet><sheetData><row><c r='A1'><v>1</v></c></row>"
                                "</sheetData><mergeCells>");
    for (int i = 0; i < 300; i++)
        n += (size_t)snprintf(many + n, sizeof many - n, "<mergeCell ref='A1:A16777216'/>");
    snprintf(many + n, sizeof many - n, "</mergeCells></worksheet>");
    expect_sheet_refused(many, "merged cells");
}

Test(files, ods_with_what_is_repeated)
{
    const char *const part[] = {
        "mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml",
        "<d xmlns:t='t' xmlns:o='o' xmlns:x='x'><t:table t:name='S'><t:table-row>"
        "<t:table-cell o:value-type='string'><x:p>k</x:p></t:table-cell>"
        "<t:table-cell o:value-type='string'><x:p>day</x:p></t:table-cell></t:table-row>"
        "<t:table-row t:number-rows-repeated='2'><t:table-cell o:value-type='float' o:value='7'>"
        "<x:p>7,0</x:p></t:table-cell>"
        "<t:table-cell o:value-type='date' o:date-value='2020-02-03'><x:p>3.2.20</x:p>"
        "<o:annotation><x:p>a remark</x:p></o:annotation></t:table-cell>"
        "<t:table-cell t:number-columns-repeated='16382'/></t:table-row>"
        "<t:table-row t:number-rows-repeated='1048000'><t:table-cell t:number-columns-repeated='16384'/>"
        "</t:table-row></t:table></d>",
        NULL
    };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_grown g = zip_of(part, 0);
    tab_file f = read_ok(a, "b.ods", g.p, g.n);
    free(g.p);
    cr_assert(f.n == 1 && f.table[0]->rows == 2 && f.table[0]->cols == 2);
    expect(f.table[0], 1, 0, "7");
    expect(f.table[0], 1, 1, "2020-02-03");
}

/* A sheet is hidden by its style, which stands above it; a style of cells of that name hides nothing. */
Test(files, hidden_sheets_of_ods_are_not_read)
{
#define PAGE(name, style)                                                             \
    "<t:table t:name='" name "' t:style-name='" style "'><t:table-row>" CELL("", "k") \
        CELL("", "day") "</t:table-row><t:table-row>" CELL("", "a") CELL("", "b") "</t:table-row></t:table>"
#define STYLE(name, family, more) "<s:style s:name='" name "' s:family='" family "'>" more "</s:style>"
    static const char text[] = "<d xmlns:t='t' xmlns:o='o' xmlns:x='x' xmlns:s='s'><s:styles>" STYLE(
        "ta1", "table", "<s:table-properties t:display='true'/>")
        STYLE("ta2", "table", "<s:table-properties t:display='false'/>")
            STYLE("ta", "cell", "<s:table-properties t:display='false'/>") "</s:styles>" PAGE("gone", "ta2")
                PAGE("S1", "ta1") PAGE("S2", "ta") PAGE("S3", "a2") "</d>";
    const char *const part[] = { "mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml",
                                 text, NULL };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_grown g = zip_of(part, 0);
    tab_file f = read_ok(a, "b.ods", g.p, g.n);
    free(g.p);
    cr_assert(f.n == 3, "%zu sheets", f.n);
    cr_expect(tab_str_eq(f.sheet[0], TAB_S("S1")) && tab_str_eq(f.sheet[1], TAB_S("S2")) &&
              tab_str_eq(f.sheet[2], TAB_S("S3")));
}
