/* Whatever the bytes of a cell: no reader crashes, what reads as a number is finite, a date lies in its year,
 * folding is stable, and a table of such cells is profiled. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/cells/checksum.h"
#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/profile/roles/roles.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one(tab_str s)
{
    tab_number x;
    tab_date d;
    double seconds;
    bool yes;
    for (int k = 0; k < 2; k++) {
        if (tab_parse_number(s, k == 0 ? '.' : ',', &x) && !isfinite(x.value))
            abort();
        if (tab_parse_date(s, k == 0 ? TAB_ORDER_MDY : TAB_ORDER_DMY, &d) &&
            !(isfinite(d.seconds) && d.year >= 1))
            abort();
    }
    if (tab_parse_clock(s, &seconds) && !(seconds >= 0 && seconds < 86400))
        abort();
    if (tab_parse_duration(s, &seconds) && !isfinite(seconds))
        abort();
    tab_parse_bool(s, &yes);
    tab_foreign_mark(s);
    tab_checks_of(s);
    char a[512], b[1024];
    tab_str once = tab_fold(s, a, sizeof a), twice = tab_fold(once, b, sizeof b);
    if (once.n < 400 && !tab_str_eq(once, twice))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(((size_t)1 << 24) + 64 * size);
    tab_builder *b = tab_builder_new(a, TAB_S("x"));
    tab_column c;
    size_t rows = 0;
    for (size_t i = 0; i <= size && rows < 500;) {
        size_t from = i;
        while (i < size && data[i] != '\n')
            i++;
        tab_str s = { (const char *)data + from, i - from };
        one(tab_trim(s));
        tab_builder_text(b, s);
        rows++;
        i++;
    }
    if (!tab_builder_finish(b, &c))
        return 0;
    tab_table t = { .id = TAB_S("t"), .rows = rows, .cols = 1, .col = &c };
    tab_engine e = { .arena = a };
    tab_profile *p;
    if (tab_profile_table(&e, &t, &p, NULL) == TAB_OK &&
        !(p->col[0].role_confidence >= 0 && p->col[0].role_confidence <= 1))
        abort();
    return 0;
}
