#include "common/base/integer.h"

#include <criterion/criterion.h>
#include <pthread.h>

#include "common/base/time.h"

Test(integer, reads_decimal_digits_and_nothing_else)
{
    static const struct {
        const char *text;
        int64_t least, most;
        bool good;
        int64_t want;
    } cases[] = {
        { "0", 0, INT64_MAX, true, 0 },
        { "42", 0, 42, true, 42 },
        { "007", 0, 42, true, 7 },
        { "9223372036854775807", 0, INT64_MAX, true, INT64_MAX },
        { "-9223372036854775808", INT64_MIN, 0, true, INT64_MIN },
        { "9223372036854775808", INT64_MIN, INT64_MAX, false, 0 },
        { "-9223372036854775809", INT64_MIN, INT64_MAX, false, 0 },
        { "99999999999999999999999999", 0, INT64_MAX, false, 0 },
        { "43", 0, 42, false, 0 },
        { "-1", 0, 42, false, 0 },
        { "-1", -1, 42, true, -1 },
        { "-0", 0, 42, false, 0 },
        { "", 0, 42, false, 0 },
        { "-", -5, 42, false, 0 },
        { "--1", -5, 42, false, 0 },
        { " 1", 0, 42, false, 0 },
        { "1 ", 0, 42, false, 0 },
        { "+1", 0, 42, false, 0 },
        { "1e3", 0, 4200, false, 0 },
        { "0x10", 0, 42, false, 0 },
        { "\xb1", 0, 42, false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t got = -77;
        bool good = tab_integer_read(tab_str_of(cases[i].text), cases[i].least, cases[i].most, &got);
        cr_expect_eq(good, cases[i].good, "`%s`", cases[i].text);
        cr_expect_eq(got, cases[i].good ? cases[i].want : -77, "`%s`: %lld", cases[i].text, (long long)got);
    }
}

Test(deadline, never_overflows)
{
    int64_t now = tab_mono_ms();
    cr_expect_eq(tab_in_ms(INT64_MAX), TAB_NO_DEADLINE);
    cr_expect_eq(tab_in_ms(INT64_MAX - 1), TAB_NO_DEADLINE);
    cr_expect_eq(tab_in_s(INT64_MAX), TAB_NO_DEADLINE);
    cr_expect_eq(tab_in_s(INT64_MAX / 1000), TAB_NO_DEADLINE);
    cr_expect_leq(tab_in_ms(INT64_MIN), now, "what is long past has passed");
    cr_expect_eq(tab_left_ms(tab_in_ms(INT64_MIN), 100), 0);
    cr_expect_eq(tab_left_ms(INT64_MIN, 100), 0);
    cr_expect_eq(tab_left_ms(INT64_MAX, 100), 100);
    cr_expect_eq(tab_left_ms(INT64_MAX - 1, 100), 100);
    cr_expect_geq(tab_in_ms(50), now + 50);
}

/* A condition made with the wall clock, as pthread_cond_init does, waits by the monotonic one. */
Test(deadline, conditions_wait_by_the_monotonic_clock)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&lock);
    int64_t from = tab_mono_ms();
    while (tab_cond_wait(&cond, &lock, from + 30))
        continue;
    cr_expect_geq(tab_mono_ms(), from + 30);
    cr_expect_not(tab_cond_wait(&cond, &lock, INT64_MIN / 2), "long past");
    pthread_mutex_unlock(&lock);
}
