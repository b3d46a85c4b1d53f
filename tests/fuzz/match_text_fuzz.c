/* Whatever the bytes of a cell: its normal form is short, lower and stable, its tokens lie within it, and
 * what reads as a number is finite. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/align/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    tab_str within;
    size_t n;
} seen;

static void within(void *ctx, tab_str token)
{
    seen *s = ctx;
    s->n++;
    if (token.n == 0 || token.p < s->within.p || token.p + token.n > s->within.p + s->within.n)
        abort();
}

static void joined(void *ctx, tab_str token)
{
    ++*(size_t *)ctx;
    for (size_t i = 0; i < token.n; i++)
        if (!((token.p[i] >= 'a' && token.p[i] <= 'z') || (token.p[i] >= '0' && token.p[i] <= '9')))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tab_str raw = { (const char *)data, size };
    char a[TAB_NORMAL_MAX], b[TAB_NORMAL_MAX];
    size_t n = tab_text_normal(raw, a);
    if (n > TAB_NORMAL_MAX)
        abort();
    for (size_t i = 0; i < n; i++)
        if ((a[i] >= 'A' && a[i] <= 'Z') || (a[i] == ' ' && (i == 0 || i + 1 == n || a[i + 1] == ' ')))
            abort();
    tab_str normal = { a, n };
    size_t m = tab_text_normal(normal, b);
    if (n < TAB_NORMAL_MAX / 2 && (m != n || memcmp(a, b, n) != 0))
        abort(); /* what was not cut is stable */
    seen s = { normal, 0 };
    tab_text_tokens(normal, within, &s);
    if (n > 0 && s.n == 0)
        abort();
    size_t words = 0;
    tab_text_joined(raw, joined, &words);
    double x;
    for (int k = 0; k < 2; k++)
        if (tab_read_number(raw, k == 0 ? '.' : ',', &x) && !isfinite(x))
            abort();
    return 0;
}
