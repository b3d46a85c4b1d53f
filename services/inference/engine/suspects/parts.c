/* What the finders share. */
#include <math.h>

#include "common/base/hash.h"
#include "services/inference/engine/suspects/parts.h"

enum { FORM_RUNS = 64 };

const char tab_lookalikes[TAB_LOOKALIKES][2] = { { 'O', '0' }, { 'o', '0' }, { 'l', '1' },
                                                 { 'I', '1' }, { 'S', '5' }, { 'B', '8' } };

double tab_log_count(double x)
{
    return x > 1 ? log10(x) : 0;
}

tab_suspect *tab_suspects_add(tab_search *s, size_t row, size_t column, tab_suspect_kind kind)
{
    if (s->n == TAB_SUSPECT_CANDIDATES)
        s->n = tab_suspects_surest(s->found, s->n, s->n / 2);
    if (s->n == s->room) {
        size_t room = s->room == 0 ? 256 : 2 * s->room;
        tab_suspect *more = tab_arena_new_of(s->arena, tab_suspect, room);
        if (more == NULL) {
            s->failed = true;
            return NULL;
        }
        if (s->n > 0)
            memcpy(more, s->found, s->n * sizeof *more);
        s->found = more;
        s->room = room;
    }
    tab_suspect *c = &s->found[s->n++];
    *c = (tab_suspect){
        .row = (uint32_t)row, .column = (uint32_t)column, .kind = (uint8_t)kind, .other = UINT32_MAX
    };
    return c;
}

char tab_sign_class(unsigned char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80)
        return 'a';
    return c >= '0' && c <= '9' ? '9' : (char)c;
}

uint64_t tab_suspects_form(tab_str t, bool exact)
{
    char form[FORM_RUNS];
    size_t n = 0;
    for (size_t i = 0; i < t.n && n < FORM_RUNS; i++) {
        char c = tab_sign_class((unsigned char)t.p[i]);
        if (exact && t.p[i] >= 'A' && t.p[i] <= 'Z')
            c = 'A';
        if (n > 0 && form[n - 1] == c && (c == 'a' || c == 'A' || (c == '9' && !exact)))
            continue;
        form[n++] = c;
    }
    return tab_fnv1a(TAB_FNV1A, form, n);
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

bool tab_one_edit(tab_str x, tab_str y, bool *ret_digit)
{
    if (x.n > y.n) {
        tab_str t = x;
        x = y, y = t;
    }
    if (y.n - x.n > 1)
        return false;
    size_t i = 0, k = 0; /* equal bytes at both ends */
    while (i < x.n && x.p[i] == y.p[i])
        i++;
    while (k < x.n - i && x.p[x.n - 1 - k] == y.p[y.n - 1 - k])
        k++;
    size_t left = x.n - i - k, right = y.n - i - k;
    bool swap = left == 2 && right == 2 && x.p[i] == y.p[i + 1] && x.p[i + 1] == y.p[i];
    if (right > 1 && !swap)
        return false;
    *ret_digit = false;
    for (size_t j = i; j < i + right; j++)
        *ret_digit |= digit(y.p[j]);
    for (size_t j = i; j < i + left; j++)
        *ret_digit |= digit(x.p[j]);
    return right > 0 || left > 0;
}
