/* Messages whose lists are as long as they must be and no longer, each in a piece of memory of its own: the
 * sanitizer sees whoever reads one too far. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "common/calibration/live.h"

/* n things in a piece of exactly their size. */
static void *tight(const void *from, size_t n, size_t size)
{
    void *to = malloc(n * size);
    cr_assert_not_null(to);
    return memcpy(to, from, n * size);
}

Test(calibration_room, bands_are_read_to_their_end_and_no_farther)
{
    Tabella__LiveCalibration c;
    tab_bands back;
    tabella__live_calibration__init(&c);
    c.at = tight(tab_bands_static.at, c.n_at = TAB_BANDS_LEVELS, sizeof *c.at);
    c.n_expert = TAB_BANDS_LEVELS * TAB_BANDS_EXPERTS;
    c.expert = tight(tab_bands_static.expert, c.n_expert, sizeof *c.expert);
    cr_expect(tab_live_get_bands(&c, &back) && back.at[2] == 1);
    c.expert[c.n_expert - 1] = (float)INFINITY;
    cr_expect_not(tab_live_get_bands(&c, &back), "the last one is none");
    free(c.at);
    free(c.expert);
}

Test(calibration_room, shares_are_read_to_their_end_and_no_farther)
{
    Tabella__LiveCalibration c;
    tab_shares s, back;
    tab_shares_begin(&s);
    tabella__live_calibration__init(&c);
    const uint64_t known[] = { 5, 9 };
    float shift[TAB_SHARES_SHIFTS * 2] = { 1, 2, 3, 4, 5, 6 };
    c.known = tight(known, c.n_known = 2, sizeof *c.known);
    c.shift = tight(shift, c.n_shift = TAB_SHARES_SHIFTS * 2, sizeof *c.shift);
    c.n_weight = TAB_SHARES_SHIFTS * TAB_SHARES_TEMPERATURES;
    c.weight = tight(s.weight, c.n_weight, sizeof *c.weight);
    cr_assert(tab_live_get_shares(&c, &back));
    cr_expect(back.classes == 2 && back.known[1] == 9 && back.shift[2][1] == 6 && back.shift[1][0] == 3);
    cr_expect_eq(tab_shares_place(&back, 9), 1);
    cr_expect_eq(tab_shares_place(&back, 7), SIZE_MAX);
    c.weight[c.n_weight - 1] = .5;
    cr_expect_not(tab_live_get_shares(&c, &back), "they sum to one and a half");
    free(c.known);
    free(c.shift);
    free(c.weight);
}

Test(calibration_room, a_row_of_as_many_classes_as_are_kept_is_served_in_their_room)
{
    enum { N = TAB_SHARES_CLASSES };
    tab_shares s;
    double own[N], sum = 0;
    uint64_t own_hash[N];
    size_t own_place[N];
    for (size_t k = 0; k < N; k++)
        own[k] = (double)(k + 1) / (N * (N + 1) / 2), own_hash[k] = 100 + k;
    double *share = tight(own, N, sizeof *own), *scratch = malloc(2 * sizeof own), *ret = malloc(sizeof own);
    uint64_t *hash = tight(own_hash, N, sizeof *own_hash);
    tab_shares_begin(&s);
    const tab_shares_row row = { .n = N, .hash = hash, .share = share };
    for (size_t i = 0; i < 40; i++)
        tab_shares_tell(&s, &row, i % 3);
    cr_assert(tab_shares_sound(&s) && s.classes == N);
    for (size_t k = 0; k < N; k++)
        own_place[k] = tab_shares_place(&s, hash[k]);
    size_t *place = tight(own_place, N, sizeof *own_place);
    tab_shares_move(&s, place, share, N, scratch, ret);
    for (size_t k = 0; k < N; k++)
        sum += ret[k];
    cr_expect_float_eq(sum, 1, 1e-12);
    cr_expect(ret[0] > share[0] && ret[N - 1] < share[N - 1], "what came is likelier than it was");
    free(share);
    free(scratch);
    free(ret);
    free(hash);
    free(place);
}
