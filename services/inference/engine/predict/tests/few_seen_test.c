/* A client seen once is not well known: classes of his next row are said less surely (decision 0542). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted_parts.h"

enum { CLIENTS = 160, OFTEN = 6, TABLES = 4 };

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

/* Near a normal number. */
static double bell(size_t i, size_t what)
{
    double s = -6;
    for (size_t k = 0; k < 12; k++)
        s += draw(i, 100 * what + k);
    return s;
}

/* How likely a client's row says yes: each leans to one side. */
static double likely(size_t client, size_t row)
{
    return 1 / (1 + exp(-(2 * bell(client, 1) + bell(row, 2))));
}

/* A table in which every other client has six rows, and the others one, whose second is asked. Its mean
 * confidence, and in *right how often that is right. */
static double said(size_t table, double *right)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_builder *b[] = { tab_builder_new(a, TAB_S("client")), tab_builder_new(a, TAB_S("x")),
                         tab_builder_new(a, TAB_S("says")) };
    tab_column col[3];
    double p[CLIENTS * OFTEN], sure = 0;
    size_t rows = 0, first = SIZE_MAX;
    bool yes_first = false;
    for (size_t c = 0; c < CLIENTS; c++)
        for (size_t i = 0; i < (c % 2 ? OFTEN : 2); i++, rows++) {
            size_t who = c + CLIENTS * table, row = 10 * who + i;
            bool open = c % 2 == 0 && i == 1, yes = draw(row, 3) < likely(who, row);
            char name[32];
            snprintf(name, sizeof name, "client %zu", 37 * c % CLIENTS);
            p[rows] = likely(who, row);
            tab_builder_text(b[0], tab_str_of(name));
            tab_builder_number(b[1], bell(row, 2));
            if (open)
                tab_builder_null(b[2]);
            else
                tab_builder_text(b[2], yes ? TAB_S("yes") : TAB_S("no"));
            if (first == SIZE_MAX && !open)
                first = rows, yes_first = yes;
        }
    for (size_t c = 0; c < 3; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = rows, .cols = 3, .col = col };
    tab_profile *q = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = { .base = "base-2", .target = 2, .task = TAB_TASK_CLASSIFICATION };
    cr_assert_eq(tab_profile_table(&e, &t, &q, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, q, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    const Tabella__Results *r = m->missing_target_results;
    uint32_t yes = yes_first ? f->label[first] : 1 - f->label[first];
    cr_assert_eq(r->n_row, CLIENTS / 2);
    for (size_t i = 0; i < r->n_row; i++) {
        sure += r->probabilities[2 * i + r->label[i]] / (double)r->n_row;
        *right += (r->label[i] == yes ? p[r->row[i]] : 1 - p[r->row[i]]) / (double)r->n_row / TABLES;
    }
    return sure;
}

Test(few_seen, classes_of_a_client_seen_once_are_doubted, .timeout = 300)
{
    double sure = 0, right = 0;
    for (size_t k = 0; k < TABLES; k++)
        sure += said(k, &right) / TABLES;
    cr_expect_lt(sure - right, 0.035, "said %.3f, right %.3f", sure, right);
    cr_expect_gt(sure - right, -0.1, "said %.3f, right %.3f", sure, right);
}
