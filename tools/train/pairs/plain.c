/* See samples.h: made tables in which no two rows are one entity, though many look alike: variants of a
 * product, families at one address, seasons, readings, answers to choose from. Every kind is drawn with
 * vocabularies, sizes and columns of its own. */
#include <stdio.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "tools/train/pairs/samples.h"

enum { CELL = 160, SEEDS = 6 };

static size_t seed;

/* A number below n that follows from what it is for. */
static uint32_t chance(size_t row, size_t what, uint32_t n)
{
    return (uint32_t)(tab_hash_mix(tab_hash_mix(seed * 977 + what, row), 41) >> 20) % n;
}

/* Word k of vocabulary `list`. */
static const char *word(size_t list, uint32_t k)
{
    static const char *const head[] = {
        "ba",  "cor", "del", "fen", "gra", "hol", "ki",  "lum", "mar", "nor",
        "pel", "qui", "ras", "sto", "tre", "ul",  "ver", "wes", "yar", "zin"
    };
    static const char *const tail[] = { "ton", "via", "mont", "dale", "rick", "sa",  "lin", "berg", "ster",
                                        "no",  "ley", "mar",  "das",  "gen",  "ria", "vik", "ham",  "lo" };
    static char out[16][32];
    static size_t next;
    uint64_t h = tab_hash_mix(list * 131 + seed, k);
    char *p = out[next++ & 15];
    snprintf(p, 32, "%s%s%s", head[h % 20], h >> 40 & 1 ? head[(h >> 8) % 20] : "", tail[(h >> 16) % 18]);
    return p;
}

static void day(size_t row, size_t what, uint32_t from, uint32_t years, char out[CELL])
{
    snprintf(out, CELL, "%u-%02u-%02u", from + chance(row, what, years), 1 + chance(row, what + 1, 12),
             1 + chance(row, what + 2, 28));
}

typedef void cell_of(size_t r, size_t col, char out[CELL]);

static void variants(size_t r, size_t col, char out[CELL])
{
    uint32_t each = 2 + (uint32_t)seed % 4, size = (uint32_t)(r % each);
    size_t k = r / each;
    if (col == 0)
        snprintf(out, CELL, "%s %s %c%u %u %s", word(1, chance(k, 1, 6)), word(2, chance(k, 2, 14)),
                 'A' + (char)chance(k, 3, 26), chance(k, 4, 900), 8u << size, seed % 2 ? "GB" : "cm");
    else if (col == 1)
        snprintf(out, CELL, "%s", word(1, chance(k, 1, 6)));
    else if (col == 2)
        snprintf(out, CELL, "%u.%02u", 20 + chance(k, 5, 80) + size * 7, chance(k, 6, 100));
    else if (col == 3)
        snprintf(out, CELL, "%s for the %s, model year 20%u", word(2, chance(k, 2, 14)),
                 word(4, chance(k, 8, 5)), 10 + chance(k, 7, 12));
    else
        snprintf(out, CELL, "%s", word(3, size + (uint32_t)chance(k, 9, 2)));
}

static void panel(size_t r, size_t col, char out[CELL])
{
    uint32_t lands = 8 + 10 * (uint32_t)seed;
    if (col == 0)
        snprintf(out, CELL, "%s", word(5, (uint32_t)r % lands));
    else if (col == 1)
        snprintf(out, CELL, "%zu", 1990 + r / lands);
    else if (seed % 2 && col == 2)
        snprintf(out, CELL, "%s", word(6, (uint32_t)r % lands / 4));
    else
        snprintf(out, CELL, "%u.%u", 10 + chance(r % lands, col, 90) + chance(r, col, 4),
                 chance(r, col + 9, 10));
}

static void measured(size_t r, size_t col, char out[CELL])
{
    uint32_t kinds = 2 + (uint32_t)seed;
    if (col == 4)
        snprintf(out, CELL, "%s", word(7, (uint32_t)r % kinds));
    else
        snprintf(out, CELL, "%zu.%u", 2 + r % kinds + col % 2, chance(r, col, 6 + (uint32_t)seed * 4));
}

static void answers(size_t r, size_t col, char out[CELL])
{
    snprintf(out, CELL, "%s", word(8 + (seed % 2 ? col : 0), chance(r, col, 2 + (uint32_t)(col + seed) % 4)));
}

static void events(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%zu", 900000 + r * (1 + seed));
    else if (col == 1)
        snprintf(out, CELL, "2024-03-%02zuT%02u:%02u:%02zu", 1 + r / 60 % 28, chance(r, 1, 24),
                 chance(r, 2, 60), r % 60);
    else if (col == 2)
        snprintf(out, CELL, "%s %s", word(20, chance(chance(r, 3, 20), 4, 30)), word(21, chance(r, 3, 20)));
    else if (col == 3)
        snprintf(out, CELL, "%s", word(22, chance(r, 5, 5)));
    else
        snprintf(out, CELL, "10.%u.0.%u", chance(chance(r, 3, 20), 6, 4), chance(chance(r, 3, 20), 7, 250));
}

static void seasons(size_t r, size_t col, char out[CELL])
{
    size_t each = 3 + seed, k = r / each;
    if (col == 0)
        snprintf(out, CELL, "The %s of %s", word(23, (uint32_t)k), word(24, (uint32_t)k % 11));
    else if (col == 1)
        snprintf(out, CELL, "%zu", 1 + r % each);
    else if (col == 2)
        snprintf(out, CELL, "%s %s", word(25, (uint32_t)k), word(26, (uint32_t)k / 2));
    else if (col == 3)
        snprintf(out, CELL, "%s", word(27, (uint32_t)k % 4));
    else
        snprintf(out, CELL, "%u", 2000 + (uint32_t)(r % each) + chance(k, 1, 15));
}

/* Households: one family name, street, town and telephone; first names, birth days and often mail differ. */
static void families(size_t r, size_t col, char out[CELL])
{
    size_t each = 1 + seed % 4 + 1, k = r / each;
    const char *family = word(30, chance(k, 1, 120)), *first = word(31, chance(r, 2, 60));
    if (col == 0)
        snprintf(out, CELL, seed % 2 ? "%s" : "%s %s", first, family);
    else if (col == 1 && seed % 3 == 0 && chance(k, 19, 6) == 0) /* named after the father */
        snprintf(out, CELL, "%s", word(31, chance(k, 20, 60)));
    else if (col == 1)
        snprintf(out, CELL, "%s", family);
    else if (col == 2)
        day(r, 3, 1940, 70, out);
    else if (col == 3)
        snprintf(out, CELL, "%u %s street", 1 + chance(k, 7, 180), word(32, chance(k, 8, 40)));
    else if (col == 4)
        snprintf(out, CELL, "%s", word(33, chance(k, 9, 25)));
    else if (col == 5)
        snprintf(out, CELL, "%u %u", 200 + chance(k, 10, 700), 100000 + chance(k, 11, 900000));
    else if (chance(r, 12, 3) > 0)
        snprintf(out, CELL, "%s.%s@%s.example", first, family, word(34, chance(r, 13, 6)));
}

static void lines(size_t r, size_t col, char out[CELL])
{
    size_t order = r / (1 + seed % 3);
    uint32_t who = chance(order, 1, 150), what = chance(r, 2, 60);
    if (col == 0)
        snprintf(out, CELL, "%s %s", word(40, chance(who, 3, 40)), word(41, who));
    else if (col == 1)
        snprintf(out, CELL, "%s %s", word(42, what % 9), word(43, what));
    else if (col == 2)
        snprintf(out, CELL, "%u", 1 + chance(r, 4, 4));
    else if (col == 3)
        snprintf(out, CELL, "%u.%02u", 5 + chance(what, 5, 90), chance(what, 6, 100));
    else if (col == 4)
        day(order, 7, 2021, 3, out);
    else
        snprintf(out, CELL, "%s", word(44, chance(who, 8, 20)));
}

static void fixtures(size_t r, size_t col, char out[CELL])
{
    uint32_t teams = 10 + 2 * (uint32_t)seed;
    if (col == 0)
        day(r / (teams / 2), 1, 2015, 5, out);
    else if (col == 1 || col == 2)
        snprintf(out, CELL, "%s %s", word(50, chance(r, col + 3, teams)),
                 word(51, chance(r, col + 3, teams) % 4));
    else if (col < 5)
        snprintf(out, CELL, "%u", chance(r, col + 5, 5));
    else
        snprintf(out, CELL, "%u", 8000 + chance(chance(r, 4, teams), 12, 30000) + chance(r, 13, 900));
}

static void branches(size_t r, size_t col, char out[CELL])
{
    size_t each = 1 + seed % 5, k = r / each;
    if (col == 0)
        snprintf(out, CELL, "%s %s %s", word(60, (uint32_t)k), word(61, chance(k, 1, 12)),
                 seed % 2 ? "Ltd" : "Group");
    else if (col == 1)
        snprintf(out, CELL, "%s", word(62, chance(r, 2, 70)));
    else if (col == 2)
        snprintf(out, CELL, "%u %s road", 1 + chance(r, 3, 200), word(63, chance(r, 4, 60)));
    else if (col == 3)
        snprintf(out, CELL, "www.%s.example", word(60, (uint32_t)k));
    else if (col == 4)
        snprintf(out, CELL, "%u", 10000 + chance(r, 5, 80000));
    else
        snprintf(out, CELL, "%s", word(64, chance(k, 6, 8)));
}

/* Flats of a house, houses of a street: a number tells them apart. */
static void flats(size_t r, size_t col, char out[CELL])
{
    size_t each = 2 + seed % 4, k = r / each;
    uint32_t flat = 1 + (uint32_t)(r % each) * (1 + (uint32_t)seed % 2);
    const char *street = word(80, chance(k, 1, 90));
    if (col == 0 && seed % 2)
        snprintf(out, CELL, "Flat %u, %u %s %s", flat, 1 + chance(k, 2, 150), street,
                 chance(k, 3, 2) ? "Road" : "St");
    else if (col == 0)
        snprintf(out, CELL, "%u %s Avenue", 1 + chance(k, 2, 150) + 2 * flat, street);
    else if (col == 1)
        snprintf(out, CELL, "%s", word(81, chance(k, 4, 30)));
    else if (col == 2)
        snprintf(out, CELL, "%s%u %u%c", seed % 2 ? "AB" : "Q", chance(k, 5, 30), chance(k, 6, 9),
                 'A' + (char)chance(k, 7, 20));
    else if (col == 3)
        snprintf(out, CELL, "%u.%04u", 50 + chance(k, 8, 4), chance(k, 9, 10000));
    else
        snprintf(out, CELL, "%u", 40 + chance(r, 10, 90));
}

/* Papers with a second part, a longer version elsewhere, a report each year. */
static void papers(size_t r, size_t col, char out[CELL])
{
    static const char *const again[] = { "", " II", ": a survey", " revisited", " (extended version)" };
    size_t each = 2 + seed % 3, k = r / each, nth = r % each;
    if (col == 0)
        snprintf(out, CELL, "%s %s of %s %s for %s%s", word(82, chance(k, 1, 60)), word(83, chance(k, 2, 60)),
                 word(82, chance(k, 3, 60)), word(83, chance(k, 4, 60)), word(82, chance(k, 5, 60)),
                 again[seed % 2   ? nth % 5
                       : nth == 0 ? 0
                                  : 1 + chance(k, 6, 4)]);
    else if (col == 1)
        snprintf(out, CELL, "%s %c, %s %c", word(84, chance(k, 7, 300)), 'A' + (char)chance(k, 8, 26),
                 word(84, chance(nth == 0 ? k : r, 9, 300)), 'A' + (char)chance(k, 10, 26));
    else if (col == 2)
        snprintf(out, CELL, "%s %s", nth == 0 ? "Proc." : "Journal", word(85, chance(r, 11, 20)));
    else if (col == 3)
        snprintf(out, CELL, "%zu", 1995 + chance(k, 12, 20) + nth);
    else
        snprintf(out, CELL, "%u-%u", chance(r, 13, 300), 300 + chance(r, 14, 300));
}

/* One thing in each row, described at length: nothing looks alike. */
static void things(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%s %s", word(70, chance(r, 1, 400)), word(71, chance(r, 2, 400)));
    else if (col == 1)
        snprintf(out, CELL, "%s %s %s %s %s %s", word(72, chance(r, 3, 90)), word(73, chance(r, 4, 90)),
                 word(72, chance(r, 5, 90)), word(73, chance(r, 6, 90)), word(72, chance(r, 7, 90)),
                 word(73, chance(r, 8, 90)));
    else if (col == 2)
        snprintf(out, CELL, "%u", 1 + chance(r, 9, 5000));
    else if (col == 3)
        day(r, 10, 1990, 30, out);
    else
        snprintf(out, CELL, "%s", word(74, chance(r, 14, 7)));
}

static const struct {
    const char *name;
    size_t rows, cols;
    cell_of *cell;
} kind[] = {
    { "variants", 300, 5, variants }, { "panel", 240, 6, panel },        { "measured", 150, 5, measured },
    { "answers", 300, 7, answers },   { "events", 600, 5, events },      { "seasons", 200, 5, seasons },
    { "families", 400, 7, families }, { "lines", 600, 6, lines },        { "fixtures", 300, 6, fixtures },
    { "branches", 400, 6, branches }, { "flats", 500, 5, flats },        { "papers", 400, 5, papers },
    { "things", 400, 5, things },     { "onecolumn", 300, 1, families }, { "fewanswers", 300, 2, answers },
    { "names", 400, 2, families },
};

size_t samples_made(tab_arena *a, sample *s, size_t n, size_t most)
{
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++)
        for (seed = 0; seed < SEEDS && n < most; seed++) {
            size_t rows = kind[k].rows * (1 + seed % 3),
                   cols = kind[k].cols - (kind[k].cols > 4 && seed % 3 == 1);
            tab_column *col = tab_arena_new_of(a, tab_column, cols);
            for (size_t c = 0; c < cols; c++) {
                tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
                for (size_t r = 0; r < rows; r++) {
                    char out[CELL] = "";
                    kind[k].cell(r, c, out);
                    if (out[0] == 0 || (seed % 4 == 3 && chance(r, 100 + c, 20) == 0))
                        tab_builder_null(b);
                    else
                        tab_builder_text(b, tab_arena_copy(a, tab_str_of(out)));
                }
                if (!tab_builder_finish(b, &col[c]))
                    return n;
            }
            tab_table t = { .id = tab_str_of("t"), .rows = rows, .cols = cols, .col = col };
            s[n] = (sample){ .made = true, .counted = true };
            snprintf(s[n].name, sizeof s[n].name, "%s-%zu", kind[k].name, seed);
            snprintf(s[n].family, sizeof s[n].family, "%s", kind[k].name);
            n += sample_of(a, &t, NULL, 0, &s[n]);
        }
    return n;
}
