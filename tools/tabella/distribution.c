/* See distribution.h. Widths are counted in columns of a terminal: East Asian characters take two. */
#include "tools/tabella/distribution.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/roles/roles.h"

/* Columns that a character takes (Unicode's East Asian Width, in blocks). */
static int width_of(uint32_t c)
{
    static const uint32_t wide[][2] = { { 0x1100, 0x115f }, { 0x2e80, 0xa4cf },   { 0xac00, 0xd7a3 },
                                        { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
                                        { 0xffe0, 0xffe6 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd } };
    if ((c >= 0x300 && c <= 0x36f) || c == 0x200b || c == 0x200d || c == 0xfeff)
        return 0;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (c >= wide[i][0] && c <= wide[i][1])
            return 2;
    return 1;
}

void print_padded(tab_str s, int width)
{
    int most = width > 0 ? width : 40, used = 0;
    tab_str rest = s, cut = s;
    while (rest.n > 0) { /* how much of it fits, and how much with a mark behind */
        int w = width_of(tab_utf8_next(&rest));
        if (used + w > most)
            break;
        used += w;
        if (used < most)
            cut.n = s.n - rest.n;
    }
    bool whole = rest.n == 0 && used <= most;
    used = 0;
    for (tab_str left = whole ? s : cut; left.n > 0;) {
        const char *from = left.p;
        uint32_t c = tab_utf8_next(&left);
        used += width_of(c);
        if (c < ' ' || (c >= 0x7f && c < 0xa0))
            putchar(' ');
        else
            fwrite(from, 1, (size_t)(left.p - from), stdout);
    }
    if (!whole) {
        fputs("\u2026", stdout);
        used++;
    }
    printf("%*s", width > used ? width - used : 0, "");
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_time(double t, int role, double span)
{
    char buf[32];
    struct tm tm;
    time_t s = (time_t)floor(t);
    bool clock = role == TAB_ROLE_TIME;
    if (gmtime_r(&s, &tm) == NULL)
        return;
    strftime(buf, sizeof buf, clock ? "%H:%M" : span < 2 * 86400 ? "%Y-%m-%d %H:%M" : "%Y-%m-%d", &tm);
    fputs(buf, stdout);
}

static void print_ordered(const tab_column_profile *p, size_t rows)
{
    enum { BARS = 8 };
    static const char *const bar[] = { "\u2581", "\u2582", "\u2583", "\u2584",
                                       "\u2585", "\u2586", "\u2587", "\u2588" };
    double *x = malloc((rows + 1) * sizeof *x);
    size_t n = 0, count[BARS] = { 0 }, most = 1;
    if (x == NULL)
        return;
    for (size_t i = 0; i < rows; i++)
        if (isfinite(p->number[i]))
            x[n++] = p->number[i];
    if (n == 0) {
        free(x);
        return;
    }
    qsort(x, n, sizeof *x, ascending);
    /* The bars stand between the 2nd and the 98th percentile, so that one far value does not make them
     * one. */
    double low = x[n / 50], high = x[n - 1 - n / 50];
    for (size_t i = 0; i < n; i++) {
        double at = high > low ? (x[i] - low) / (high - low) * BARS : 0;
        size_t k = (size_t)fmin(BARS - 1, fmax(0, at));
        count[k]++;
        most = count[k] > most ? count[k] : most;
    }
    for (size_t k = 0; k < BARS; k++)
        fputs(count[k] == 0 ? " " : bar[(count[k] * 7 + most - 1) / most], stdout);
    double show[] = { x[0], x[n / 2], x[n - 1] };
    for (size_t k = 0; k < 3; k++) {
        fputs(k == 0 ? "  " : " .. ", stdout);
        if (p->type == TAB_DATETIME)
            print_time(show[k], p->role, show[2] - show[0]);
        else
            printf("%.*g", fabs(show[k]) >= 1e6 && fabs(show[k]) < 1e15 ? 15 : 6, show[k]);
    }
    free(x);
}

/* The commonest three with their shares of the cells that hold something; of text, one. */
static void print_classes(const tab_column_profile *p, size_t rows)
{
    enum { SHOWN = 3 };
    size_t *count = calloc(p->levels + 1, sizeof *count), n = 0, top[SHOWN], tops = 0, kinds = 0;
    if (count == NULL)
        return;
    for (size_t i = 0; i < rows; i++)
        if (p->code[i] < p->levels) {
            count[p->code[i]]++;
            n++;
        }
    for (size_t k = 0; k < p->levels; k++) {
        size_t at = tops;
        kinds += count[k] > 0;
        for (; at > 0 && count[k] > count[top[at - 1]]; at--)
            if (at < SHOWN)
                top[at] = top[at - 1];
        if (at < SHOWN && count[k] > 0) {
            top[at] = k;
            tops += tops < SHOWN;
        }
    }
    bool text = p->type == TAB_TEXT;
    if (text && tops > 0)
        printf("%zu distinct, such as ", kinds);
    for (size_t k = 0; k < (text ? tops > 0 : tops); k++) {
        fputs(k > 0 ? ", " : "", stdout);
        print_padded(p->level[top[k]], 0);
        if (!text)
            printf(" %.0f%%", 100.0 * (double)count[top[k]] / (double)n);
    }
    if (!text && kinds > SHOWN)
        printf(", %zu more", kinds - SHOWN);
    free(count);
}

void print_distribution(const tab_column_profile *p, size_t rows)
{
    if ((p->type == TAB_NUMERIC || p->type == TAB_DATETIME) && p->number != NULL)
        print_ordered(p, rows);
    else if (p->code != NULL && p->level != NULL)
        print_classes(p, rows);
}
