/* Intervals that follow outcomes on streams whose world moves, with truth that comes 0, 100 and 1,000 rows
 * late, and in batches of 100: for each the coverage of the 80 % interval, its extremes over all windows
 * of 500 rows, and its width over the static one's. Beside them the static bands and plain ACI of one step
 * (0.01).
 *
 *   streams           made ones, SEEDS of each
 *   streams FILE...   rows `low,median,high,value` in time's order, as an endpoint served them
 *
 * What follows is common/calibration itself. The last line says how many windows of all streams hold. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/calibration/intervals.h"

enum { ROWS = 20000, WINDOW = 500, SEEDS = 3, WAYS = 6 };
static const double TENTH = 1.2815515655446004, LOW = 0.74, HIGH = 0.86;

typedef struct {
    double low, median, high, value;
} row;

static struct {
    size_t rows, windows, held;
    double least, most, covered, width;
} sums[WAYS];

static uint64_t state;

static double uniform(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    double u = uniform(), v = uniform();
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static double student3(void)
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double z = normal();
        sum += z * z;
    }
    return normal() / sqrt(sum / 3);
}

/* ---- made streams ---------------------------------------------------------------------------- */

static const char *const kinds[] = { "none",           "wider x3",        "narrower /4",
                                     "scale wave 1-3", "scale steps 1-2", "volatility",
                                     "heavier tails",  "trend to 4 sd",   "bias wave 1.5 sd",
                                     "random walk",    "jump of 5 sd" };
enum { KINDS = sizeof kinds / sizeof *kinds };

static void make(size_t kind, uint64_t seed, row *of)
{
    double walk = 0, variance = 1;
    state = 88172645463325252u + seed * 7919;
    for (size_t i = 0; i < ROWS; i++) {
        double x = (double)i / ROWS, wave = 6.283185307179586 * (double)i / 5000, z = normal(), e = z;
        switch (kind) {
        case 1:
            e = z * (1 + 2 * x);
            break;
        case 2:
            e = z / (1 + 3 * x);
            break;
        case 3:
            e = z * (2 - cos(wave));
            break;
        case 4:
            e = z * (i / 2500 % 2 == 0 ? 1 : 2);
            break;
        case 5:
            e = z * sqrt(variance);
            variance = 0.02 + 0.1 * e * e + 0.88 * variance;
            break;
        case 6:
            e = x < 0.25 ? z : 1.5 * student3();
            break;
        case 7:
            e = z + 4 * x;
            break;
        case 8:
            e = z + 1.5 * sin(wave);
            break;
        case 9:
            e = z + (walk += 0.02 * normal());
            break;
        case 10:
            e = z + (x < 0.5 ? 0 : 5);
            break;
        default:
            break;
        }
        of[i] = (row){ -TENTH, 0, TENTH, e };
    }
}

/* ---- ways to serve --------------------------------------------------------------------------- */

typedef struct {
    tab_bands band;
} served;

/* Plain ACI (Gibbs & Candes 2021): one level, a step of 0.01, quantiles of the last 500 scores. */
static void aci_band(const tab_bands_state *ring, double level, tab_bands *ret)
{
    double tail = (1 - fmin(fmax(level, 0), 1)) / 2 * (TAB_BANDS_SCORES - 1);
    ret->at[0] = (double)ring->sorted[(size_t)floor(tail)];
    ret->at[2] = (double)ring->sorted[(size_t)ceil(TAB_BANDS_SCORES - 1 - tail)];
    ret->at[1] = fmin(fmax(0, ret->at[0]), ret->at[2]);
}

static void put(size_t way, const row *of, const served *s, size_t n)
{
    size_t in = 0, inside = 0, windows = 0, held = 0;
    double width = 0, own = 0, least = 1, most = 0;
    bool *hit = calloc(n, sizeof *hit);
    if (hit == NULL)
        exit(1);
    for (size_t i = 0; i < n; i++) {
        const row *r = &of[i];
        double low = tab_bands_move(s[i].band.at, r->low, r->median, r->high, r->low, -1);
        double high = tab_bands_move(s[i].band.at, r->low, r->median, r->high, r->high, 1);
        hit[i] = r->value >= low && r->value <= high;
        width += high - low, own += r->high - r->low;
        inside += hit[i], in += hit[i];
        in -= i >= WINDOW && hit[i - WINDOW];
        if (i + 1 >= WINDOW) {
            double c = (double)in / WINDOW;
            least = fmin(least, c), most = fmax(most, c);
            windows++;
            held += c >= LOW - 1e-9 && c <= HIGH + 1e-9;
        }
    }
    free(hit);
    printf("  %5.3f %5.3f-%5.3f %5.1f%% %5.2f |", (double)inside / (double)n, least, most,
           100 * (double)held / (double)windows, width / own);
    sums[way].rows += n, sums[way].windows += windows, sums[way].held += held;
    sums[way].covered += (double)inside, sums[way].width += width / own * (double)n;
}

/* Way 0 static, 1 plain ACI without delay, then truth 0, 100 and 1,000 rows late, then by the hundred. */
static void serve(size_t way, const row *of, size_t n, served *s)
{
    static const size_t late[WAYS] = { 0, 0, 0, 100, 1000, 0 };
    tab_bands_state b;
    double level = 0.8;
    size_t told = 0, *known = calloc(n, sizeof *known);
    if (known == NULL)
        exit(1);
    tab_bands_begin(&b);
    for (size_t i = 0; i < n; i++) {
        size_t until = way == 5 ? i / 100 * 100 : i > late[way] ? i - late[way] : 0;
        for (; way > 0 && told < until; told++) {
            const row *r = &of[told];
            double score;
            if (!tab_bands_score(r->low, r->median, r->high, r->value, &score))
                continue;
            if (way == 1) {
                level += 0.01 * (0.8 - (score >= s[told].band.at[0] && score <= s[told].band.at[2]));
                tab_bands_tell(&b, tab_bands_static.expert, score, 0);
            } else {
                tab_bands_tell(&b, (const float(*)[TAB_BANDS_EXPERTS])s[told].band.expert, score,
                               told - known[told]);
            }
        }
        known[i] = told;
        s[i].band = tab_bands_static;
        if (way == 1)
            aci_band(&b, level, &s[i].band);
        else if (way > 1)
            tab_bands_of(&b, &s[i].band);
    }
    free(known);
}

static void stream(const char *name, const row *of, size_t n)
{
    served *s = calloc(n, sizeof *s);
    if (s == NULL)
        exit(1);
    printf("%-18s", name);
    for (size_t way = 0; way < WAYS; way++) {
        serve(way, of, n, s);
        put(way, of, s, n);
    }
    printf("\n");
    free(s);
}

static size_t read_file(const char *path, row *of)
{
    FILE *f = fopen(path, "r");
    size_t n = 0;
    if (f == NULL) {
        perror(path);
        exit(1);
    }
    while (n < ROWS &&
           fscanf(f, "%lf,%lf,%lf,%lf", &of[n].low, &of[n].median, &of[n].high, &of[n].value) == 4)
        n++;
    (void)fclose(f);
    return n;
}

int main(int argc, char **argv)
{
    static row of[ROWS];
    static const char *const ways[WAYS] = { "static",   "plain ACI",  "0 late",
                                            "100 late", "1,000 late", "by the 100" };
    printf("%-18s", "");
    for (size_t way = 0; way < WAYS; way++)
        printf("  %-31s", ways[way]);
    printf("\n%-18s", "");
    for (size_t way = 0; way < WAYS; way++)
        printf("  cover windows      held width |");
    printf("\n");
    for (int i = 1; i < argc; i++) {
        const char *name = strrchr(argv[i], '/');
        size_t n = read_file(argv[i], of);
        if (n > WINDOW)
            stream(name == NULL ? argv[i] : name + 1, of, n);
    }
    for (size_t kind = 0; argc == 1 && kind < KINDS; kind++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            make(kind, seed, of);
            stream(kinds[kind], of, ROWS);
        }
    printf("%-18s", "all");
    for (size_t way = 0; way < WAYS; way++)
        printf("  %5.3f             %5.1f%% %5.2f |", sums[way].covered / (double)sums[way].rows,
               100 * (double)sums[way].held / (double)sums[way].windows,
               sums[way].width / (double)sums[way].rows);
    printf("\n");
    return 0;
}
