/* Answers that follow outcomes: every figure of an answer is moved as the calibration says and by nothing
 * else, what was the model's own is kept beside it, and an answer that is damaged is not served. */
#include <criterion/criterion.h>
#include <math.h>

#include "common/calibration/follow.h"
#include "common/calibration/live.h"
#include "common/security/receipt.h"

static tab_error err;

/* ---- numbers --------------------------------------------------------------------------------- */

enum { LEVELS = 7, ROWS = 3 };

/* A bundle of three numbers: of a width on both sides, of none below the median, of none at all. Levels that
 * lie beside 0.1, 0.5 and 0.9 come before them. */
typedef struct {
    Tabella__Bundle b;
    Tabella__Prediction p;
    Tabella__Results r, unknown;
    double level[LEVELS], value[ROWS], std[ROWS], quantile[ROWS][LEVELS], other[1], other_quantile[LEVELS];
} numbers;

static void numbers_of(numbers *x)
{
    static const double level[LEVELS] = { 0.15, 0.1, 0.45, 0.5, 0.55, 0.85, 0.9 }, quantile[ROWS][LEVELS] = {
        { 7, 6, 9, 10, 11, 13, 14 }, { 10, 10, 10, 10, 11, 13, 14 }, { 5, 5, 5, 5, 5, 5, 5 }
    };
    tabella__bundle__init(&x->b);
    tabella__prediction__init(&x->p);
    tabella__results__init(&x->r);
    tabella__results__init(&x->unknown);
    memcpy(x->level, level, sizeof level);
    memcpy(x->quantile, quantile, sizeof quantile);
    memcpy(x->other_quantile, quantile[0], sizeof quantile[0]);
    memcpy(x->value, (const double[]){ 8, 12, 5 }, sizeof x->value);
    memcpy(x->std, (const double[]){ 4, 2, 1 }, sizeof x->std);
    x->other[0] = 12;
    x->b.prediction = &x->p;
    x->p.quantile_levels = x->level, x->p.n_quantile_levels = LEVELS;
    x->p.results = &x->r;
    x->p.missing_target_results = &x->unknown;
    x->r.value = x->value, x->r.n_value = ROWS;
    x->r.std = x->std, x->r.n_std = ROWS;
    x->r.quantiles = x->quantile[0], x->r.n_quantiles = ROWS * LEVELS;
    x->unknown.value = x->other, x->unknown.n_value = 1;
    x->unknown.quantiles = x->other_quantile, x->unknown.n_quantiles = LEVELS;
}

/* Where low, median and high have come to lie at these scores. */
static Tabella__LiveCalibration *bands_of(tab_arena *a, double low, double median, double high)
{
    Tabella__LiveCalibration *c = tab_arena_new_of(a, Tabella__LiveCalibration, 1);
    tab_bands b = tab_bands_static;
    b.at[0] = low, b.at[1] = median, b.at[2] = high;
    tabella__live_calibration__init(c);
    c->state = 41;
    c->task = TAB_RECEIPT_NUMBER;
    cr_assert(tab_live_put_bands(a, &b, c));
    return c;
}

static void expect_row(const double *got, const double *want, const char *row)
{
    for (size_t k = 0; k < LEVELS; k++)
        cr_expect_float_eq(got[k], want[k], 1e-12, "%s, quantile %zu: %g", row, k, got[k]);
}

/* A score is 4 on each side of the first row's median: it moves to 12, what lies below it by 2.5 for each
 * score of its own, what lies above it too. */
static const double moved[LEVELS] = { 4.5, 2, 9.5, 12, 14.5, 19.5, 22 };

Test(follow, numbers_are_moved_by_their_own_widths)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static numbers x;
    const tab_followed *f = NULL;
    numbers_of(&x);
    cr_assert_eq(tab_follow_outcomes(a, bands_of(a, -2, 0.5, 3), &x.b, &f, &err), TAB_OK);
    expect_row(x.quantile[0], moved, "both sides");
    expect_row(x.quantile[1], (const double[]){ 6, 6, 6, 12, 14.5, 19.5, 22 }, "none below the median");
    expect_row(x.quantile[2], (const double[]){ 5, 5, 5, 5, 5, 5, 5 }, "no width");
    expect_row(x.other_quantile, moved, "a row whose target is missing");
    cr_expect(x.value[0] == 7 && x.value[1] == 17 && x.value[2] == 5 && x.other[0] == 17);
    cr_expect_float_eq(x.std[0], 4 * 20.0 / 8, 1e-12, "as its interval has widened");
    cr_expect_float_eq(x.std[1], 2 * 16.0 / 4, 1e-12);
    cr_expect_float_eq(x.std[2], 1, 0);
}

Test(follow, what_the_model_said_itself_is_kept_for_the_receipt)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static numbers x, was;
    const tab_followed *f = NULL;
    numbers_of(&x);
    numbers_of(&was);
    cr_assert_eq(tab_follow_outcomes(a, bands_of(a, -2, 0.5, 3), &x.b, &f, &err), TAB_OK);
    cr_assert_not_null(f);
    cr_expect(f->state == 41 && f->bands.at[0] == -2 && f->bands.at[2] == 3);
    cr_expect_arr_eq(f->quantiles, was.quantile, sizeof was.quantile);
}

Test(follow, nothing_moves_where_nothing_says_so)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static numbers x, was;
    const tab_followed *f = NULL;
    Tabella__LiveCalibration none = TABELLA__LIVE_CALIBRATION__INIT,
                             *c[] = { NULL, &none, bands_of(a, -1, 0, 1) };
    none.state = 7;
    numbers_of(&was);
    for (size_t i = 0; i < 3; i++) {
        numbers_of(&x);
        cr_assert_eq(tab_follow_outcomes(a, c[i], &x.b, &f, &err), TAB_OK, "%zu", i);
        cr_expect_arr_eq(x.quantile, was.quantile, sizeof was.quantile, "%zu", i);
        cr_expect_arr_eq(x.value, was.value, sizeof was.value, "%zu", i);
        cr_expect_arr_eq(x.std, was.std, sizeof was.std, "%zu", i);
        cr_expect_eq(f->state, i == 0 ? 0 : i == 1 ? 7 : 41);
        cr_expect(f->bands.at[0] == -1 && f->bands.at[1] == 0 && f->bands.at[2] == 1);
    }
    x.p.results = NULL;
    cr_expect(tab_follow_outcomes(a, c[2], &x.b, &f, &err) == TAB_OK && f == NULL, "nothing is predicted");
    x.b.prediction = NULL;
    cr_expect(tab_follow_outcomes(a, c[2], &x.b, &f, &err) == TAB_OK && f == NULL);
}

/* Without one of the three quantiles, or where there are not as many as rows have, no row's place is
 * known. */
Test(follow, an_answer_without_its_quantiles_stays_as_it_is)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static numbers x, was;
    const tab_followed *f;
    static const size_t named[] = { 1, 3, 6 };
    numbers_of(&was);
    for (size_t i = 0; i < 4; i++) {
        numbers_of(&x);
        x.p.missing_target_results = NULL;
        if (i < 3)
            x.level[named[i]] += 0.01;
        else
            x.r.n_quantiles -= LEVELS;
        cr_assert_eq(tab_follow_outcomes(a, bands_of(a, -2, 0.5, 3), &x.b, &f, &err), TAB_OK);
        cr_expect_arr_eq(x.quantile, was.quantile, sizeof was.quantile, "%zu", i);
        cr_expect_arr_eq(x.value, was.value, sizeof was.value, "%zu", i);
    }
    cr_expect_eq(tab_quantile_place(&was.p, 0.45), 2);
    cr_expect_eq(tab_quantile_place(&was.p, 0.2), SIZE_MAX);
    numbers_of(&x);
    x.r.n_std = 1;
    cr_assert_eq(tab_follow_outcomes(a, bands_of(a, -2, 0.5, 3), &x.b, &f, &err), TAB_OK);
    cr_expect(x.std[0] == 10 && x.std[1] == 2, "one that is not told is not touched");
}

/* ---- classes --------------------------------------------------------------------------------- */

enum { CLASSES = 4 };

/* "yes", 1, "1" and true, as a bundle has them. */
static Tabella__Column *names(void)
{
    static Tabella__Column c;
    static uint32_t code[CLASSES] = { 0, 1, 2, 3 }, end[CLASSES] = { 3, 6, 7, 11 };
    static uint8_t level[CLASSES] = { TAB_CELL_TEXT, TAB_CELL_NUMBER, TAB_CELL_TEXT, TAB_CELL_BOOL };
    tabella__column__init(&c);
    c.coded = true;
    c.codes = (ProtobufCBinaryData){ sizeof code, (uint8_t *)code };
    c.level_text = (ProtobufCBinaryData){ 11, (uint8_t *)(uintptr_t) "yes1.01true" };
    c.level_end = (ProtobufCBinaryData){ sizeof end, (uint8_t *)end };
    c.level_kind = (ProtobufCBinaryData){ sizeof level, level };
    return &c;
}

/* As receipts call them: a number however it was written, and a text that looks like one is none. */
static uint64_t hash_of(size_t k)
{
    static const char *const text[CLASSES] = { "\"yes\"", "1", "\"1\"", "true" };
    return tab_receipt_class(tab_str_of(text[k]));
}

typedef struct {
    Tabella__Bundle b;
    Tabella__Prediction p;
    Tabella__Results r, unknown;
    uint32_t label[2], other_label[1];
    double share[2][CLASSES], other[CLASSES];
} labels;

/* The second row leaves a fifth to a class that nobody knows. */
static void labels_of(labels *x)
{
    static const double share[2][CLASSES] = { { 0.4, 0.3, 0.2, 0.1 }, { 0.1, 0.2, 0.3, 0.2 } };
    tabella__bundle__init(&x->b);
    tabella__prediction__init(&x->p);
    tabella__results__init(&x->r);
    tabella__results__init(&x->unknown);
    memcpy(x->share, share, sizeof share);
    memcpy(x->other, share[0], sizeof x->other);
    x->label[0] = x->other_label[0] = 0, x->label[1] = 2;
    x->b.prediction = &x->p;
    x->p.classes = names();
    x->p.results = &x->r;
    x->p.missing_target_results = &x->unknown;
    x->r.label = x->label, x->r.n_label = 2;
    x->r.probabilities = x->share[0], x->r.n_probabilities = 2 * CLASSES;
    x->unknown.label = x->other_label, x->unknown.n_label = 1;
    x->unknown.probabilities = x->other, x->unknown.n_probabilities = CLASSES;
}

/* After outcomes of which n came true as the class k. */
static Tabella__LiveCalibration *shares_after(tab_arena *a, size_t k, size_t n, tab_shares *s)
{
    uint64_t hash[CLASSES];
    const double share[CLASSES] = { 0.4, 0.3, 0.2, 0.1 };
    Tabella__LiveCalibration *c = tab_arena_new_of(a, Tabella__LiveCalibration, 1);
    for (size_t i = 0; i < CLASSES; i++)
        hash[i] = hash_of(i);
    tab_shares_begin(s);
    for (size_t i = 0; i < n; i++)
        tab_shares_tell(s, &(tab_shares_row){ .n = CLASSES, .hash = hash, .share = share }, k);
    tabella__live_calibration__init(c);
    c->state = n;
    c->task = TAB_RECEIPT_CLASS;
    cr_assert(tab_live_put_shares(a, s, c));
    return c;
}

Test(follow, classes_are_told_apart_as_receipts_tell_them)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Prediction p = TABELLA__PREDICTION__INIT;
    uint64_t *hash = NULL;
    p.classes = names();
    cr_assert_eq(tab_class_hashes(a, &p, CLASSES, &hash, &err), TAB_OK);
    for (size_t k = 0; k < CLASSES; k++)
        cr_expect_eq(hash[k], hash_of(k), "%zu", k);
    cr_expect_eq(tab_class_hashes(a, &p, CLASSES + 1, &hash, &err), TAB_INTERNAL, "one that has no name");
    p.classes = NULL;
    cr_expect_eq(tab_class_hashes(a, &p, 0, &hash, &err), TAB_INTERNAL);
    static double number[] = { 1, 0.1, -7 };
    static Tabella__Column c;
    tabella__column__init(&c);
    c.numbers = (ProtobufCBinaryData){ sizeof number, (uint8_t *)number };
    p.classes = &c;
    cr_assert_eq(tab_class_hashes(a, &p, 3, &hash, &err), TAB_OK);
    cr_expect_eq(hash[0], hash_of(1), "a number is one, whether it is coded or not");
    cr_expect_eq(hash[1], tab_receipt_class(TAB_S("0.10000000000000001")));
    cr_expect_eq(hash[2], tab_receipt_class(TAB_S("-7")));
}

/* What was left to a class that nobody knows is left to it, the shares are those that the state says, and the
 * label is the likeliest of them. */
Test(follow, shares_are_moved_and_the_label_with_them)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static tab_shares s;
    static labels x, was;
    const tab_followed *f = NULL;
    for (size_t came = 0; came < CLASSES; came++) {
        double want[CLASSES], scratch[2 * CLASSES];
        size_t place[CLASSES], changed = 0;
        labels_of(&x);
        labels_of(&was);
        const Tabella__LiveCalibration *c = shares_after(a, came, 60, &s);
        cr_assert_eq(tab_follow_outcomes(a, c, &x.b, &f, &err), TAB_OK);
        cr_expect(f->state == 60 && memcmp(f->probabilities, was.share, sizeof was.share) == 0);
        for (size_t k = 0; k < CLASSES; k++)
            place[k] = tab_shares_place(&s, hash_of(k));
        for (size_t i = 0; i < 2; i++) {
            double all = i == 0 ? 1 : 0.8;
            size_t best = 0;
            tab_shares_move(&s, place, was.share[i], CLASSES, scratch, want);
            for (size_t k = 0; k < CLASSES; k++) {
                cr_expect_float_eq(x.share[i][k], all * want[k], 1e-12, "%zu, row %zu, class %zu", came, i,
                                   k);
                best = want[k] > want[best] ? k : best;
            }
            cr_expect_eq(x.label[i], best);
            changed += best != was.label[i];
        }
        cr_expect(changed > 0 || came == 0 || came == 2, "60 outcomes in a row change a label");
        cr_expect_arr_eq(x.other, x.share[0], sizeof x.other, "a row whose target is missing too");
        cr_expect_eq(x.other_label[0], x.label[0]);
    }
}

/* Whatever label the model gave before. */
Test(follow, the_label_is_the_likeliest_class)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static tab_shares s;
    static labels x;
    const tab_followed *f;
    const Tabella__LiveCalibration *c = shares_after(a, 0, 0, &s); /* shares stay as they are */
    for (uint32_t was = 0; was < CLASSES; was++)
        for (uint32_t most = 0; most < CLASSES; most++) {
            labels_of(&x);
            for (uint32_t k = 0; k < CLASSES; k++)
                x.share[0][k] = k == most ? 0.4 : 0.2;
            x.label[0] = was;
            cr_assert_eq(tab_follow_outcomes(a, c, &x.b, &f, &err), TAB_OK);
            cr_expect_eq(x.label[0], most, "%u, %u", was, most);
        }
}

/* Whatever room there is, an answer is moved whole, or refused and not served. */
Test(follow, an_answer_needs_room_or_is_refused)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static tab_shares s;
    static labels x, want;
    const tab_followed *f;
    size_t whole = 0, refused = 0;
    const Tabella__LiveCalibration *c = shares_after(a, 3, 60, &s);
    labels_of(&want);
    cr_assert_eq(tab_follow_outcomes(a, c, &want.b, &f, &err), TAB_OK);
    for (size_t room = 8; room < 4096; room += 8) {
        TAB_AUTO(tab_arena) *small = tab_arena_new(room);
        labels_of(&x);
        bool ok = tab_follow_outcomes(small, c, &x.b, &f, &err) == TAB_OK;
        cr_assert(!ok || memcmp(x.share, want.share, sizeof x.share) == 0, "%zu", room);
        whole += ok;
        refused += !ok;
    }
    cr_expect(whole > 0 && refused > 0);
}

Test(follow, of_equal_shares_the_label_stays)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static tab_shares s;
    static labels x;
    const tab_followed *f;
    labels_of(&x);
    for (size_t k = 0; k < CLASSES; k++)
        x.share[0][k] = 0.25;
    x.label[0] = 2;
    cr_assert_eq(tab_follow_outcomes(a, shares_after(a, 0, 0, &s), &x.b, &f, &err), TAB_OK);
    cr_expect_eq(x.label[0], 2u);
}

Test(follow, rows_whose_target_is_missing_may_be_all_there_are)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static tab_shares s;
    static labels x;
    const tab_followed *f;
    labels_of(&x);
    x.r.n_label = x.r.n_probabilities = 0;
    cr_assert_eq(tab_follow_outcomes(a, shares_after(a, 3, 60, &s), &x.b, &f, &err), TAB_OK);
    cr_expect(x.share[0][0] == 0.4 && x.other[3] > 0.1, "what came is likelier than it was");
    labels_of(&x);
    x.p.missing_target_results = NULL;
    cr_assert_eq(tab_follow_outcomes(a, shares_after(a, 3, 60, &s), &x.b, &f, &err), TAB_OK);
    cr_expect(x.share[0][3] > 0.1 && x.other[3] == 0.1);
}

/* Sizes that do not fit, or a state that nobody wrote: what was damaged is said and not served. */
Test(follow, what_is_damaged_is_refused)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static tab_shares s;
    static labels x;
    static numbers n;
    const tab_followed *f;
    Tabella__LiveCalibration *c = shares_after(a, 0, 3, &s);
    labels_of(&x);
    x.r.n_probabilities--;
    cr_expect_eq(tab_follow_outcomes(a, c, &x.b, &f, &err), TAB_INTERNAL);
    labels_of(&x);
    x.unknown.n_probabilities--;
    cr_expect_eq(tab_follow_outcomes(a, c, &x.b, &f, &err), TAB_INTERNAL);
    labels_of(&x);
    x.p.classes = NULL;
    cr_expect_eq(tab_follow_outcomes(a, c, &x.b, &f, &err), TAB_INTERNAL);
    labels_of(&x);
    c->weight[0] += 1;
    cr_expect_eq(tab_follow_outcomes(a, c, &x.b, &f, &err), TAB_INTERNAL);
    numbers_of(&n);
    c = bands_of(a, -2, 0.5, 3);
    c->at[0] = 4; /* above the others */
    cr_expect_eq(tab_follow_outcomes(a, c, &n.b, &f, &err), TAB_INTERNAL);
    c = bands_of(a, -2, 0.5, 3);
    c->task = UINT32_MAX; /* as jobs calls a state that cannot be read (calibration_served) */
    c->n_at = 0;
    cr_expect_eq(tab_follow_outcomes(a, c, &n.b, &f, &err), TAB_INTERNAL);
    TAB_AUTO(tab_arena) *small = tab_arena_new(16);
    cr_expect_neq(tab_follow_outcomes(small, NULL, &n.b, &f, &err), TAB_OK, "out of memory");
}

/* ---- what is stored -------------------------------------------------------------------------- */

/* What jobs writes and reads again is the state to the last bit, and of other sizes it is none. */
Test(follow, a_state_comes_back_as_it_was_stored)
{
    static tab_bands_state s, back;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    float expert[TAB_BANDS_LEVELS][TAB_BANDS_EXPERTS];
    tab_bands_begin(&s);
    for (size_t i = 0; i < 700; i++) {
        tab_bands b;
        tab_bands_of(&s, &b);
        memcpy(expert, b.expert, sizeof expert);
        double y = 3 * sin((double)i);
        const bool below[] = { y <= b.at[0], y <= b.at[1], y <= b.at[2] };
        tab_bands_tell(&s, (const float(*)[TAB_BANDS_EXPERTS])expert, below, y, i % 4);
    }
    Tabella__LiveBands *b = tab_live_of_state(a, &s);
    cr_assert(b != NULL && tab_live_get_state(b, &back));
    cr_expect_arr_eq(&back, &s, sizeof s);
    size_t *const sizes[] = { &b->n_score, &b->n_level, &b->n_weight, &b->n_offset };
    for (size_t i = 0; i < 4; i++)
        for (int by = -1; by <= 1; by += 2) {
            *sizes[i] += (size_t)by;
            cr_expect_not(tab_live_get_state(b, &back), "%zu", i);
            *sizes[i] -= (size_t)by;
        }
    b->next = TAB_BANDS_SCORES;
    cr_expect_not(tab_live_get_state(b, &back));
    for (size_t room = 16; room < 8192; room += 64) { /* whole, or refused */
        TAB_AUTO(tab_arena) *small = tab_arena_new(room);
        b = tab_live_of_state(small, &s);
        cr_expect(b == NULL || (tab_live_get_state(b, &back) && memcmp(&back, &s, sizeof s) == 0));
    }
}

/* What is served travels whole: each threshold and share is where it was, and of other sizes, or out of
 * order, it is none. */
Test(follow, what_is_served_comes_back_as_it_was_written)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static tab_shares s, back;
    tab_bands got, b = tab_bands_static;
    Tabella__LiveCalibration c = TABELLA__LIVE_CALIBRATION__INIT;
    for (size_t i = 0; i < TAB_BANDS_LEVELS * TAB_BANDS_EXPERTS; i++)
        b.expert[i / TAB_BANDS_EXPERTS][i % TAB_BANDS_EXPERTS] = (float)i;
    cr_assert(tab_live_put_bands(a, &b, &c) && tab_live_get_bands(&c, &got));
    cr_expect_arr_eq(&got, &b, sizeof b);
    static const double none[][3] = { { -1, 2, 1 },
                                      { 1, 0, 2 },
                                      { (double)-INFINITY, 0, 1 },
                                      { 0, 1, (double)INFINITY } },
                        ends[][3] = { { 0, 0, 0 }, { -1, -1, 4 }, { -1, 4, 4 } };
    for (size_t i = 0; i < 4; i++) {
        memcpy(c.at, none[i], sizeof none[i]);
        cr_expect_not(tab_live_get_bands(&c, &got), "%zu", i);
    }
    for (size_t i = 0; i < 3; i++) {
        memcpy(c.at, ends[i], sizeof ends[i]);
        cr_expect(tab_live_get_bands(&c, &got), "%zu", i);
    }
    Tabella__LiveCalibration *of = shares_after(a, 1, 20, &s);
    cr_assert(tab_live_get_shares(of, &back));
    cr_expect_arr_eq(&back, &s, sizeof s);
    size_t *const sizes[] = { &of->n_known, &of->n_shift, &of->n_weight, &c.n_at, &c.n_expert };
    for (size_t i = 0; i < 5; i++)
        for (int by = -1; by <= 1; by += 2) {
            *sizes[i] += (size_t)by;
            cr_expect_not(i < 3 ? tab_live_get_shares(of, &back) : tab_live_get_bands(&c, &got), "%zu", i);
            *sizes[i] -= (size_t)by;
        }
    of->n_known = TAB_SHARES_CLASSES + 1;
    of->n_shift = TAB_SHARES_SHIFTS * of->n_known;
    cr_expect_not(tab_live_get_shares(of, &back), "more than are kept");
}
