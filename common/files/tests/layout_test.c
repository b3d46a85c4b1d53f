#include "common/files/files.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* What a report's text is read as: "id: name|name (rows)" a table, then " + " and the next. */
static void expect_tables(const char *text, const char *want)
{
    static const tab_file_limits limits = TAB_FILE_LIMITS;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_file f;
    tab_error err = { 0 };
    char got[1024];
    size_t n = 0;
    cr_assert(tab_file_read(a, TAB_S("r.csv"), tab_str_of(text), &limits, &f, &err) == TAB_OK, "%s",
              err.message);
    for (size_t i = 0; i < f.n; i++) {
        const tab_table *t = f.table[i];
        n += (size_t)snprintf(got + n, sizeof got - n, "%s%.*s:", i > 0 ? " + " : "", TAB_STR(t->id));
        for (size_t k = 0; k < t->cols; k++)
            n += (size_t)snprintf(got + n, sizeof got - n, "%s%.*s%s", k > 0 ? "|" : " ",
                                  TAB_STR(t->col[k].name), t->col[k].layout == TAB_NUMBERS ? "#" : "");
        n += (size_t)snprintf(got + n, sizeof got - n, " (%zu)", t->rows);
    }
    cr_expect_str_eq(got, want, "%s\nis read as  %s\nand not as  %s", text, got, want);
}

#define ONE "Region,Jul,Aug\nNorth,1,2\nSouth,2,3\nWest,5,5\n"

Test(layout, tables_one_above_the_other)
{
    expect_tables("Sales\n" ONE "\nStaff:\nName,Age,City\nAnn,31,Bonn\nBob,44,Ulm\n",
                  "r_Sales: Region|Jul#|Aug# (3) + r_Staff: Name|Age#|City (2)");
    expect_tables(ONE "\nName,Age,City,Pay\nAnn,31,Bonn,9\nBob,44,Ulm,8\n",
                  "r_1: Region|Jul#|Aug# (3) + r_2: Name|Age#|City|Pay# (2)");
    expect_tables("Region,Jul,Aug,,\nNorth,1,2,,\nSouth,2,3,,\n,,,,\nName,Age,City,Pay,Id\nAnn,31,Bonn,9,1\n"
                  "Bob,44,Ulm,8,2\n",
                  "r_1: Region|Jul#|Aug# (2) + r_2: Name|Age#|City|Pay#|Id# (2)");
    expect_tables("Code,Rate\nA,1\nB,2\nC,3\nD,4\n\na,b,c,d,e,f,g,h\n1,2,3,4,5,6,7,8\n2,3,4,5,6,7,8,9\n"
                  "3,4,5,6,7,8,9,1\n4,5,6,7,8,9,1,2\n5,6,7,8,9,1,2,3\n6,7,8,9,1,2,3,4\n",
                  "r_1: Code|Rate# (4) + r_2: a#|b#|c#|d#|e#|f#|g#|h# (6)");
}

Test(layout, a_title_above_the_same_names_begins_a_table)
{
    expect_tables("2022\n" ONE "2023\n" ONE, "r_2022: Region|Jul#|Aug# (3) + r_2023: Region|Jul#|Aug# (3)");
    expect_tables("Old\n" ONE "New\n" ONE, "r_Old: Region|Jul#|Aug# (3) + r_New: Region|Jul#|Aug# (3)");
    expect_tables("Plan\n" ONE "Page 2\nRegion,Jul,Aug\nEast,5,7\nMid,1,1\n", "r: Region|Jul#|Aug# (5)");
    expect_tables("Plan\n" ONE "Plan\nRegion,Jul,Aug\nEast,5,7\nMid,1,1\n", "r: Region|Jul#|Aug# (5)");
}

Test(layout, labels_of_groups_are_a_column)
{
    expect_tables("plant,n,kg\nNorth,,\nRose,3,1\nTulip,4,2\nSouth,,\nFern,9,3\nOak,8,2\n",
                  "r: group|plant|n#|kg# (4)");
    expect_tables("group,n,kg\nNorth,,\nRose,3,1\nTulip,4,2\nSouth,,\nFern,9,3\nOak,8,2\n",
                  "r: group of rows|group|n#|kg# (4)");
    expect_tables("plant,n,kg\nRose,3,1\nTulip,,\nFern,9,3\nOak,,\nElm,8,2\n", "r: plant|n#|kg# (5)");
    expect_tables("plant,n,kg\nRose,,\nTulip,4,2\nFern,9,3\nOak,,\nRose,8,2\nElm,8,2\n",
                  "r: plant|n#|kg# (6)");
    expect_tables("plant,n,kg\nRose,,\nTulip,,\nFern,9,3\nOak,7,5\nElm,8,2\n", "r: plant|n#|kg# (5)");
    expect_tables("plant,n,kg\nRose,,\nTulip,4,\nFern,9,3\nOak,,\nBeech,,2\nElm,8,2\n",
                  "r: plant|n#|kg# (6)"); /* a list with gaps */
}

Test(layout, names_of_any_script_are_names)
{
    expect_tables("имя,город\nИван,Москва\nПётр,Тверь\nАнна,Омск\n\nтовар,цена\nчай,3\nсок,4\nхлеб,2\n",
                  "r_1: имя|город (3) + r_2: товар|цена# (3)");
    expect_tables("名前,市\n太郎,東京\n花子,大阪\n次郎,京都\n\n品,値\n茶,3\n水,4\n米,2\n",
                  "r_1: 名前|市 (3) + r_2: 品|値# (3)");
}

Test(layout, a_gap_alone_parts_nothing)
{
    expect_tables(ONE "\nEast,5,7\nMid,1,1\n\nFar,2,2\n", "r: Region|Jul#|Aug# (6)");
    expect_tables(ONE "\nEast,n/a,7\nMid,1,1\nFar,2,2\n", "r: Region|Jul|Aug# (6)");
    expect_tables("name,town\nann,ulm\nbob,bonn\n\ncid,kiel\ndora,ulm\ned,bonn\n", "r: name|town (5)");
    expect_tables(ONE "\nRegion,Jul,Aug\nEast,5,7\nMid,1,1\n", "r: Region|Jul#|Aug# (5)");
}

Test(layout, tables_side_by_side)
{
    expect_tables("Region,Jul,,Name,Age\nNorth,1,,Ann,31\nSouth,2,,Bob,44\n,,,Cid,29\n,,,Dora,50\n",
                  "r_1: Region|Jul# (2) + r_2: Name|Age# (4)");
    expect_tables("Sales,,,Staff,\nRegion,Jul,,Name,Age\nNorth,1,,Ann,31\nSouth,2,,Bob,44\nWest,5,,Cid,29\n",
                  "r_Sales: Region|Jul# (3) + r_Staff: Name|Age# (3)");
    expect_tables("Region,Jul,,Region,Aug\nNorth,1,,North,2\nSouth,2,,South,4\nWest,5,,West,6\n",
                  "r_1: Region|Jul# (3) + r_2: Region|Aug# (3)");
    expect_tables("Region,Jul,,Aug,Sep\nNorth,1,,2,3\nSouth,2,,4,5\nWest,5,,6,7\n",
                  "r: Region|Jul#|#|Aug#|Sep# (3)");
}

Test(layout, headers_of_several_rows)
{
    expect_tables(",2022,,2023,\nRegion,Sales,Cost,Sales,Cost\nN,1,2,3,4\nS,5,6,7,8\nW,9,8,7,6\n",
                  "r: Region|2022 Sales#|2022 Cost#|2023 Sales#|2023 Cost# (3)");
    expect_tables("Name,Price,Qty\n,EUR,pieces\nA,1.5,2\nB,2.5,3\nC,3.5,1\n",
                  "r: Name|Price EUR#|Qty pieces# (3)");
    expect_tables("Day,Time,Qty\nDay,Time,Qty\n1,2,3\n4,5,6\n7,8,9\n", "r: Day#|Time#|Qty# (3)");
    expect_tables("Name,Price,Qty\nA,n/a,-\nB,2.5,3\nC,3.5,1\nD,1,1\n", "r: Name|Price|Qty (4)");
}

Test(layout, titles_above)
{
    expect_tables("Report 2024\n\n" ONE, "r: Region|Jul#|Aug# (3)");
    expect_tables(",,,,\nRegion,Jul,Aug,Sep,Total\nNorth,1,2,3,6\nSouth,2,3,4,9\nWest,5,5,5,15\n",
                  "r: Region|Jul#|Aug#|Sep#|Total# (3)");
    expect_tables("Spend by card,\n,\nMerchant,Sum\nHotels,7\nTrains,8\nShips,9\n", "r: Merchant|Sum# (3)");
}

Test(layout, notes_below)
{
    expect_tables(ONE "Total,8,10\n\nSource: Federal Statistical Office\n* provisional figures\n",
                  "r: Region|Jul#|Aug# (3)");
    expect_tables(ONE "Source: Federal Statistical Office,,\n", "r: Region|Jul#|Aug# (3)");
    expect_tables(ONE "A row that lacks its values,,\n", "r: Region|Jul#|Aug# (4)");
    expect_tables("item,price,shop\nnote: pad,1,a\nnote: book,2,b\npen,3,c\nnote: card,,\n",
                  "r: item|price#|shop (4)");
}
