/* See align.h: chooses pairs of columns so that each column stands in one at most and the sum of their
 * log-odds is greatest, for link/. The Hungarian method in its shortest-path form (Jonker & Volgenant,
 * Computing 1987), run on the connected parts of the graph of plausible pairs, so that wide tables stay
 * cheap. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/align.h"
#include "services/inference/engine/align/union_find.h"

enum {
    PART_MAX = 400
}; /* larger parts are assigned greedily: the method is cubic, 400 columns take about 0.1 s */

/* rows <= cols; cost is (rows, cols) row-major; to[r] is the column of row r. u and v are the dual prices;
 * each round adds one row along the cheapest augmenting path. False: out of memory. */
static bool shortest_paths(size_t rows, size_t cols, const double *cost, uint32_t *to)
{
    /* least: the cheapest way to a column so far; way: the column before it on that way; of: the row that has
     * a column */
    double *u = calloc(rows + 1, sizeof *u), *v = calloc(cols + 1, sizeof *v);
    double *least = malloc((cols + 1) * sizeof *least);
    uint32_t *of = calloc(cols + 1, sizeof *of), *way = calloc(cols + 1, sizeof *way);
    bool *used = malloc((cols + 1) * sizeof *used);
    bool ok = u && v && least && of && way && used;
    for (size_t i = 1; ok && i <= rows; i++) {
        /* column 0 is a place of departure; of[j]: the row that has column j, counted from 1, 0 for none */
        of[0] = (uint32_t)i;
        /* the new row departs from column 0 */
        size_t j0 = 0;
        for (size_t j = 0; j <= cols; j++) {
            least[j] = INFINITY;
            used[j] = false;
        }
        do {
            used[j0] = true;
            /* Dijkstra's step: the cheapest column that is not on the path yet, by costs less the prices */
            size_t i0 = of[j0], j1 = 0;
            double delta = INFINITY;
            for (size_t j = 1; j <= cols; j++) {
                if (used[j])
                    continue;
                double c = cost[(i0 - 1) * cols + j - 1] - u[i0] - v[j];
                if (c < least[j]) {
                    least[j] = c;
                    way[j] = (uint32_t)j0;
                }
                if (least[j] < delta) {
                    delta = least[j];
                    j1 = j;
                }
            }
            /* prices move, so that the path's edges cost nothing */
            for (size_t j = 0; j <= cols; j++) {
                if (used[j]) {
                    u[of[j]] += delta;
                    v[j] -= delta;
                } else {
                    least[j] -= delta;
                }
            }
            j0 = j1;
        } while (of[j0] != 0);
        /* the path is walked back, and each row on it takes the next column */
        while (j0 != 0) {
            of[j0] = of[way[j0]];
            j0 = way[j0];
        }
    }
    /* every row has a column now */
    size_t placed = 0;
    for (size_t j = 1; ok && j <= cols; j++)
        if (of[j] != 0) {
            to[of[j] - 1] = (uint32_t)(j - 1);
            placed++;
        }
    assert(!ok || placed == rows);
    free(u), free(v), free(least), free(of), free(way), free(used);
    return ok;
}

/* What a pair adds to the total: its log-odds above those of the threshold. The constant keeps a pair
 * right at the threshold worth more than none. */
static double gain(float p, float least)
{
    if (p < least)
        return 0;
    /* probabilities of 0 and 1 would have no log-odds */
    double q = fmin(fmax((double)p, 1e-6), 1 - 1e-6), l = fmin(fmax((double)least, 1e-6), 1 - 1e-6);
    return log(q / (1 - q)) - log(l / (1 - l)) + 1e-3;
}

/* One connected part: its columns of a and of b. */
static bool assign_part(const uint32_t *a, size_t na, const uint32_t *b, size_t nb, size_t cols_b,
                        const float *p, float least, uint32_t *match)
{
    /* the smaller side are the rows */
    bool flip = na > nb;
    size_t rows = flip ? nb : na, cols = flip ? na : nb;
    assert(rows > 0 && rows <= cols); /* else a row would have no column to end in */
    double *cost = malloc(rows * cols * sizeof *cost);
    uint32_t *to = calloc(rows, sizeof *to);
    bool ok = cost != NULL && to != NULL;
    for (size_t r = 0; ok && r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            cost[r * cols + c] = -gain(p[a[flip ? c : r] * cols_b + b[flip ? r : c]], least);
    ok = ok && shortest_paths(rows, cols, cost, to);
    for (size_t r = 0; ok && r < rows; r++) {
        /* a pair below the threshold was only chosen because every row must have a column */
        uint32_t i = a[flip ? to[r] : r], j = b[flip ? r : to[r]];
        if (p[i * cols_b + j] >= least && p[i * cols_b + j] > 0)
            match[i] = j;
    }
    free(cost);
    free(to);
    return ok;
}

/* Again and again the likeliest pair of columns that are both free. */
static void assign_greedily(const uint32_t *a, size_t na, const uint32_t *b, size_t nb, size_t cols_b,
                            const float *p, float least, uint32_t *match)
{
    for (;;) {
        float best = 0;
        uint32_t bi = 0, bj = 0;
        for (size_t i = 0; i < na; i++) {
            if (match[a[i]] != TAB_NULL)
                continue;
            for (size_t j = 0; j < nb; j++) {
                float q = p[a[i] * cols_b + b[j]];
                if (q < least || q <= best)
                    continue;
                bool taken = false;
                for (size_t k = 0; k < na && !taken; k++)
                    taken = match[a[k]] == b[j];
                if (!taken) {
                    best = q;
                    bi = a[i];
                    bj = b[j];
                }
            }
        }
        if (best == 0)
            return;
        match[bi] = bj;
    }
}

/* Parts are found by union-find over pairs with p >= least. */
tab_status tab_align_assign(size_t cols_a, size_t cols_b, const float *p, float least, uint32_t *match,
                            tab_error *err)
{
    size_t n = cols_a + cols_b;
    uint32_t *up = malloc((n + 1) * sizeof *up), *a = malloc((n + 1) * sizeof *a),
             *b = malloc((n + 1) * sizeof *b);
    bool ok = up && a && b;
    for (size_t i = 0; ok && i < n; i++)
        up[i] = (uint32_t)i;
    /* a's columns are 0 .. cols_a - 1, b's follow; the smaller root stays, so that a part's is its first
     * column */
    for (size_t i = 0; ok && i < cols_a; i++) {
        match[i] = TAB_NULL;
        for (size_t j = 0; j < cols_b; j++)
            if (p[i * cols_b + j] >= least && p[i * cols_b + j] > 0) {
                uint32_t x = tab_union_root(up, (uint32_t)i), y = tab_union_root(up, (uint32_t)(cols_a + j));
                up[x > y ? x : y] = x > y ? y : x;
            }
    }
    for (size_t r = 0; ok && r < cols_a; r++) {
        if (tab_union_root(up, (uint32_t)r) != r) /* a part's root is its first column of a */
            continue;
        /* the part's columns on both sides */
        size_t na = 0, nb = 0;
        for (size_t i = 0; i < cols_a; i++)
            if (tab_union_root(up, (uint32_t)i) == r)
                a[na++] = (uint32_t)i;
        for (size_t j = 0; j < cols_b; j++)
            if (tab_union_root(up, (uint32_t)(cols_a + j)) == r)
                b[nb++] = (uint32_t)j;
        if (nb == 0)
            continue;
        if (na > PART_MAX || nb > PART_MAX)
            assign_greedily(a, na, b, nb, cols_b, p, least, match);
        else
            ok = assign_part(a, na, b, nb, cols_b, p, least, match);
    }
    free(up);
    free(a);
    free(b);
    return ok ? TAB_OK : tab_no_memory(err);
}
