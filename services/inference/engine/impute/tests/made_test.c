/* Numbers that sums and products of their row make are filled to the last digit (decision 0847). */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/impute/impute.h"

enum { ROWS = 500, COLS = 5 };
static const char *const NAME[COLS] = { "quantity", "price", "net", "tax", "gross" };

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

/* Lines of invoices; loose: the net is a tenth more or less, as it comes, and gross no sum. */
static void line(size_t i, bool loose, double ret[COLS])
{
    ret[0] = 1 + floor(20 * draw(i, 1));
    ret[1] = round(500 + 9000 * draw(i, 2)) / 100;
    ret[2] = round(100 * ret[0] * ret[1] * (loose ? 0.9 + 0.2 * draw(i, 3) : 1)) / 100;
    ret[3] = round(19 * ret[2] * (loose ? 0.9 + 0.2 * draw(i, 4) : 1)) / 100;
    ret[4] = round(100 * (ret[2] + ret[3] + (loose ? 10 * draw(i, 5) : 0))) / 100;
}

/* Whether the cell is taken out: one of a row in three, net and tax or tax and gross of some. */
static bool gap(size_t i, size_t c)
{
    size_t at = (size_t)(15 * draw(i, 6));
    return at == c || (c > 1 && at == c + 1 && draw(i, 7) < 0.3);
}

typedef struct {
    tab_arena *arena;
    Tabella__Imputation *m;
    size_t filled, exact;
    double sure;
} filled;

static filled fill(bool loose)
{
    filled f = { .arena = tab_arena_new((size_t)1 << 30) };
    tab_engine e = { .arena = f.arena };
    tab_column col[COLS];
    tab_builder *b[COLS];
    double x[COLS];
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(f.arena, tab_str_of(NAME[c]));
    for (size_t i = 0; i < ROWS; i++) {
        line(i, loose, x);
        for (size_t c = 0; c < COLS; c++)
            if (gap(i, c))
                tab_builder_null(b[c]);
            else
                tab_builder_number(b[c], x[c]);
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    tab_impute_target none = { 0, COLS, NULL };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_impute(&e, &p, 1, NULL, &none, &f.m, NULL), TAB_OK);
    for (size_t i = 0; i < f.m->n_row; i++) {
        double v;
        memcpy(&v, f.m->value->numbers.data + sizeof v * i, sizeof v); /* all are numbers */
        line(f.m->row[i], loose, x);
        f.exact += fabs(v - x[f.m->column[i]]) < 1e-9;
        f.filled++;
    }
    for (size_t i = 0; i < f.m->n_row_confidence; i++)
        f.sure += f.m->row_confidence[i] / (double)f.m->n_row_confidence;
    return f;
}

/* A net of gross and tax that are rounded may be a cent off. */
Test(made, what_an_invoice_says_twice_is_filled_to_the_cent, .timeout = 300)
{
    filled f = fill(false);
    cr_assert_gt(f.filled, ROWS / 4);
    cr_expect_gt(f.exact, 0.95 * (double)f.filled, "%zu of %zu", f.exact, f.filled);
    cr_expect_gt(f.sure, 0.97, "%g", f.sure);
    for (size_t i = 0; i < f.m->n_row; i++)
        cr_expect_str_eq(f.m->method[f.m->method_of[i]], "model");
    tab_arena_free(f.arena);
}

Test(made, numbers_that_only_go_together_are_learned, .timeout = 300)
{
    filled f = fill(true);
    cr_assert_gt(f.filled, ROWS / 4);
    cr_expect_lt(f.exact, 0.3 * (double)f.filled, "%zu of %zu", f.exact, f.filled);
    tab_arena_free(f.arena);
}
