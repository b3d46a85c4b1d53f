/* Which features of a wide table the models of a fold read (screen.h). */
#include "services/inference/engine/learn/screen.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"

enum { ROWS = 400, CONTEXT = 300, FEATURES = 1000, BINS = 64 };
enum { STRAIGHT = 17, BENT = 501, GAPS = 700, NAMES = 820, OUTSIDE = 900 };

/* Noise but for five features. The target z follows one, the square of another and the gaps of a third; one
 * is a category of many levels; and one repeats the target on the rows behind the context. */
typedef struct {
    tab_feature feature[FEATURES];
    uint8_t bin[FEATURES][ROWS], *at[FEATURES];
    float z[ROWS];
    uint32_t label[ROWS], context[CONTEXT];
    tab_encoder enc;
    tab_data data;
    tab_problem problem;
} wide;

static wide *make(size_t features, size_t classes)
{
    wide *w = calloc(1, sizeof *w);
    cr_assert_not_null(w);
    for (size_t f = 0; f < features; f++) {
        w->feature[f] = (tab_feature){ .kind = TAB_FEATURE_NUMBER, .bins = BINS };
        w->at[f] = w->bin[f];
        for (size_t i = 0; i < ROWS; i++)
            w->bin[f][i] = (uint8_t)(BINS * tab_unit(tab_mix2(f, i)));
    }
    if (features > NAMES)
        w->feature[NAMES] = (tab_feature){ .kind = TAB_FEATURE_CODE, .levels = 300, .bins = 255 };
    for (size_t i = 0; i < ROWS; i++) {
        double a = w->bin[STRAIGHT][i] / (double)BINS - 0.5,
               b = features > BENT ? w->bin[BENT][i] / (double)BINS - 0.5 : 0;
        bool gap = i % 3 == 0;
        if (features > GAPS && gap)
            w->bin[GAPS][i] = TAB_BIN_MISSING;
        w->z[i] = (float)(a + 3 * b * b + 0.3 * gap);
        w->label[i] =
            (uint32_t)fmin((double)classes - 1, fmax(0, (double)classes * (a + 2 * b * b + 0.3 * gap + 0.3)));
        if (features > OUTSIDE && i >= CONTEXT)
            w->bin[OUTSIDE][i] = (uint8_t)fmin(BINS - 1, fmax(0, BINS * (0.4 * (double)w->z[i] + 0.3)));
    }
    for (uint32_t i = 0; i < CONTEXT; i++)
        w->context[i] = i;
    w->enc = (tab_encoder){ .n = features, .f = w->feature };
    w->data = (tab_data){ .rows = ROWS, .n = features, .bin = w->at };
    w->problem = (tab_problem){ .enc = &w->enc,
                                .data = &w->data,
                                .classification = classes > 0,
                                .outputs = classes > 0 ? classes : 1,
                                .label = w->label,
                                .y = w->z };
    return w;
}

static bool has(const uint32_t *kept, size_t n, uint32_t f)
{
    for (size_t i = 0; i < n; i++)
        if (kept[i] == f)
            return true;
    return false;
}

Test(screen, keeps_what_tells_however_it_does)
{
    for (size_t classes = 0; classes <= 3; classes += classes == 0 ? 2 : 1) {
        wide *w = make(FEATURES, classes);
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        uint32_t *kept = NULL;
        size_t n = 0;
        cr_assert(tab_screen(a, &w->problem, w->context, CONTEXT, &kept, &n));
        cr_assert_eq(n, TAB_SCREEN_KEPT);
        for (size_t i = 1; i < n; i++)
            cr_expect_lt(kept[i - 1], kept[i]);
        cr_expect(has(kept, n, STRAIGHT), "%zu classes", classes);
        cr_expect(has(kept, n, BENT), "%zu classes", classes);
        cr_expect(has(kept, n, GAPS), "%zu classes", classes);
        cr_expect(has(kept, n, NAMES), "%zu classes", classes);
        free(w);
    }
}

Test(screen, reads_the_targets_of_the_context_alone)
{
    wide *w = make(FEATURES, 0);
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    uint32_t *kept = NULL, *again = NULL;
    size_t n = 0;
    cr_assert(tab_screen(a, &w->problem, w->context, CONTEXT, &kept, &n));
    for (size_t i = CONTEXT; i < ROWS; i++)
        w->z[i] = -1000 * w->z[i];
    cr_assert(tab_screen(a, &w->problem, w->context, CONTEXT, &again, &n));
    cr_expect_arr_eq(kept, again, n * sizeof *kept);
    free(w);
}

Test(screen, leaves_other_tables_as_they_are)
{
    wide *w = make(TAB_SCREEN_KEPT, 0);
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    uint32_t *kept = w->context;
    size_t n = 0;
    cr_assert(tab_screen(a, &w->problem, w->context, CONTEXT, &kept, &n));
    cr_expect_null(kept);
    cr_expect_eq(n, TAB_SCREEN_KEPT);
    free(w);
}
