#include "common/base/nearest.h"

#include <ctype.h>

enum { MOST = 64 };

static int lower(tab_str s, size_t i)
{
    return tolower((unsigned char)s.p[i]);
}

/* Optimal string alignment: three rows of the table of distances of prefixes. */
static size_t distance(tab_str a, tab_str b)
{
    size_t row[3][MOST + 1];
    for (size_t j = 0; j <= b.n; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *now = row[i % 3], *before = row[(i + 2) % 3], *older = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t best = before[j - 1] + (lower(a, i - 1) != lower(b, j - 1));
            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && lower(a, i - 1) == lower(b, j - 2) && lower(a, i - 2) == lower(b, j - 1) &&
                older[j - 2] + 1 < best)
                best = older[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[a.n % 3][b.n];
}

/* The only name that begins with the word; n: none or several. */
static size_t beginning(tab_str word, const tab_str *known, size_t n)
{
    size_t found = n;
    for (size_t i = 0; i < n && word.n >= 4; i++) {
        size_t k = 0;
        while (k < word.n && k < known[i].n && lower(word, k) == lower(known[i], k))
            k++;
        if (k == word.n && found < n)
            return n;
        if (k == word.n)
            found = i;
    }
    return found;
}

size_t tab_nearest(tab_str word, const tab_str *known, size_t n)
{
    size_t best = n, least = 0;
    if (word.n > MOST)
        return n;
    for (size_t i = 0; i < n; i++) {
        if (known[i].n > MOST)
            continue;
        size_t d = distance(word, known[i]), longer = known[i].n > word.n ? known[i].n : word.n;
        if (3 * d <= longer && (best == n || d < least))
            best = i, least = d;
    }
    return best < n ? best : beginning(word, known, n);
}
