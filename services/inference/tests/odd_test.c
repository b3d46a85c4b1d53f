/* Odd tables by the hundred, drawn from a generator, and what the fuzzer found once. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/tests/odd.h"

enum { BYTES = 400 };

static void draw(size_t seed)
{
    uint8_t bytes[BYTES];
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(tab_mix2(seed, i) >> 20);
    const char *why = odd_try(bytes, BYTES);
    cr_expect_null(why, "draw %zu: %s", seed, why == NULL ? "" : why);
}

static void draw_all(size_t from, size_t to)
{
    for (size_t seed = from; seed < to; seed++)
        draw(seed);
    cr_expect_gt(odd_answered(), (to - from) / 2, "most are answered, not refused");
}

Test(odd, tables_of_the_first_half, .timeout = 900)
{
    draw_all(0, 400);
}

Test(odd, tables_of_the_second_half, .timeout = 900)
{
    draw_all(400, 800);
}

/* Draws and inputs that found something once. */
Test(odd, tables_that_were_trouble, .timeout = 900)
{
    static const size_t seeds[] = {
        9,    /* a target's marks were filled */
        504,  /* a joint model without coordinates */
        1993, /* an R squared beyond a double's range */
    };
    static const struct {
        const char *what;
        size_t n;
        uint8_t bytes[64];
    } inputs[] = {
        { "categories of one level have no coordinates in the joint model",
          57,
          { 145, 78,  135, 117, 247, 239, 170, 21, 47,  94, 78,  207, 23,  122, 4,   211, 85,  66,  156,
            76,  24,  215, 97,  223, 205, 157, 9,  148, 92, 186, 191, 229, 216, 206, 85,  25,  203, 222,
            78,  154, 224, 58,  16,  31,  121, 88, 245, 19, 77,  173, 48,  5,   82,  67,  110, 93,  229 } },
    };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        draw(seeds[i]);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        const char *why = odd_try(inputs[i].bytes, inputs[i].n);
        cr_expect_null(why, "%s: %s", inputs[i].what, why == NULL ? "" : why);
    }
}
