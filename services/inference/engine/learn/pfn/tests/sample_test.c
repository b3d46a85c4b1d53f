/* What a member reads of a large table, and that its probabilities are of the table rather than of the
 * sample. */
#include <cblas.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/pfn/sample.h"

Test(sample, every_class_keeps_rows_and_rare_ones_keep_all)
{
    size_t quota[100], sum = 0;
    tab_pfn_quota((size_t[]){ 30, 70 }, 2, 100, quota);
    cr_assert(quota[0] == 30 && quota[1] == 70, "what fits is read whole");

    size_t some[] = { 99000, 700, 300, 3, 0 }; /* two under 1 %, one of three rows, one of none */
    tab_pfn_quota(some, 5, 4096, quota);
    cr_assert(quota[1] == 700 && quota[2] == 300 && quota[3] == 3 && quota[4] == 0);
    cr_assert(quota[0] >= 4096 - 1003 - 1 && quota[0] <= 4096 - 1003, "%zu", quota[0]);

    size_t middle[] = { 500000, 400000, 15000 }; /* 1.6 %: over the limit, still at least 50 */
    tab_pfn_quota(middle, 3, 1000, quota);
    cr_assert_geq(quota[2], 50);
    cr_assert_float_eq((double)quota[0] / (double)quota[1], 1.25, 0.05);

    size_t many[100]; /* all of the rare rows would be more than the room */
    for (size_t c = 0; c < 100; c++)
        many[c] = c < 2 ? 500000 : 9000;
    tab_pfn_quota(many, 100, 4096, quota);
    for (size_t c = 0; c < 100; c++) {
        cr_assert_geq(quota[c], 20);
        sum += quota[c];
    }
    cr_assert(sum <= 4096 && sum > 3900, "%zu", sum);
    for (size_t room = 1; room < 300; room += 7) { /* never more than the room, nor than there is */
        tab_pfn_quota(some, 5, room, quota);
        sum = 0;
        for (size_t c = 0; c < 5; c++) {
            cr_assert_leq(quota[c], some[c]);
            sum += quota[c];
        }
        cr_assert_leq(sum, room);
    }
}

/* rows x 2 numbers that tell nothing of the class, which is 1 in one row of `each` */
typedef struct {
    tab_arena *a;
    tab_encoder *enc;
    tab_data *data;
    tab_problem p;
    uint32_t *row;
} fixture;

static fixture noise(size_t rows, size_t each)
{
    fixture f = { .a = tab_arena_new((size_t)1 << 30) };
    tab_engine e = { .arena = f.a };
    tab_column *col = tab_arena_new_of(f.a, tab_column, 2);
    for (size_t j = 0; j < 2; j++) {
        tab_builder *b = tab_builder_new(f.a, TAB_S("x"));
        for (size_t i = 0; i < rows; i++)
            tab_builder_number(b, tab_unit(tab_mix2(i, j)));
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    tab_table *t = tab_arena_new_of(f.a, tab_table, 1);
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = 2, .col = col };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    const bool use[] = { true, true };
    f.enc = tab_encode_fit(&e, f.a, p, use, &f.data);
    cr_assert_not_null(f.enc);
    uint32_t *label = tab_arena_new_of(f.a, uint32_t, rows);
    f.row = tab_arena_new_of(f.a, uint32_t, rows);
    for (size_t i = 0; i < rows; i++) {
        label[i] = i % each == 0;
        f.row[i] = (uint32_t)i;
    }
    f.p = (tab_problem){ .enc = f.enc, .data = f.data, .classification = true, .outputs = 2, .label = label };
    return f;
}

Test(sample, members_read_other_rows_of_the_common_class_and_the_same_of_the_rare_one)
{
    fixture f = noise(20000, 200);
    uint32_t *one = malloc(20000 * 4), *two = malloc(20000 * 4);
    memcpy(one, f.row, 20000 * 4), memcpy(two, f.row, 20000 * 4);
    size_t n = tab_pfn_sample(f.data, f.p.label, 2, 4096, 1, one, 20000),
           m = tab_pfn_sample(f.data, f.p.label, 2, 4096, 2, two, 20000), rare = 0, shared = 0;
    cr_assert(n == m && n <= 4096 && n > 4090, "%zu", n);
    for (size_t i = 0, k = 0; i < n; i++) {
        cr_assert(i == 0 || one[i] > one[i - 1]);
        rare += f.p.label[one[i]];
        while (k < m && two[k] < one[i])
            k++;
        shared += k < m && two[k] == one[i] && f.p.label[one[i]] == 0;
    }
    cr_assert_eq(rare, 100);
    cr_assert(shared > 600 && shared < 1050, "%zu rows of the common class in both", shared);
    free(one), free(two);
    tab_arena_free(f.a);
}

Test(sample, probabilities_are_of_the_table)
{
    enum { N = 40000, ASKED = 60 };
    fixture f = noise(N, 200); /* one in 200; one in five of a sample of 512 that keeps as many as it may */
    openblas_set_num_threads(1);
    tab_fit_task t = { .context = f.row, .n = N, .arena = f.a };
    void *m = tab_learn_pfn.fit(&f.p, &t, NULL);
    cr_assert_not_null(m);
    float out[2 * ASKED];
    tab_learn_pfn.predict(m, f.enc, f.data, f.row, ASKED, out);
    double mean = 0;
    for (size_t i = 0; i < ASKED; i++)
        mean += exp((double)out[2 * i + 1]) / ASKED;
    cr_assert(mean > 0.001 && mean < 0.015, "%g, and 0.005 in the table", mean);
    tab_arena_free(f.a);
}
