#include "services/inference/engine/link/pairs/geo.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/profile/roles/roles.h"

enum { PAIRS = 1000 };

double tab_haversine(double lat_a, double lon_a, double lat_b, double lon_b)
{
    static const double RADIUS = 6371.0088; /* mean, IUGG */
    double rad = M_PI / 180, p = sin((lat_b - lat_a) * rad / 2), l = sin((lon_b - lon_a) * rad / 2);
    double h = p * p + cos(lat_a * rad) * cos(lat_b * rad) * l * l;
    return 2 * RADIUS * asin(sqrt(fmin(h, 1)));
}

static double number(const tab_table_view *t, size_t col, uint32_t row)
{
    const tab_view *w = &t->col[col];
    return w->code[row] == TAB_NULL ? (double)NAN : w->value[w->code[row]].number;
}

/* km, or NaN. The first attribute of a pair is the latitude. */
static double distance(const tab_table_view *a, const tab_table_view *b, const tab_attribute *t, uint32_t ra,
                       uint32_t rb)
{
    const tab_attribute *lat = t->longitude ? t->other : t, *lon = t->longitude ? t : t->other;
    return tab_haversine(number(a, lat->a, ra), number(a, lon->a, ra), number(b, lat->b, rb),
                         number(b, lon->b, rb));
}

static bool within(const tab_view *w, double most)
{
    return w->sorted_n > 0 && w->sorted[0] >= -most && w->sorted[w->sorted_n - 1] <= most;
}

static bool is_role(const tab_table_view *a, const tab_table_view *b, const tab_attribute *t, int role,
                    double most)
{
    const tab_view *x = &a->col[t->a], *y = &b->col[t->b];
    return t->numeric && t->scale == 1 && (x->profile->role == role || y->profile->role == role) &&
           within(x, most) && within(y, most);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool tab_geo_find(const tab_table_view *a, const tab_table_view *b, tab_attribute *attr, size_t n,
                  tab_arena *arena)
{
    for (size_t i = 0; i < n; i++) {
        tab_attribute *lon = NULL;
        if (attr[i].other != NULL || !is_role(a, b, &attr[i], TAB_ROLE_LATITUDE, 90))
            continue;
        for (size_t j = 0; j < n; j++) /* the nearest column: a table may hold two places */
            if (j != i && attr[j].other == NULL && is_role(a, b, &attr[j], TAB_ROLE_LONGITUDE, 180) &&
                (lon == NULL ||
                 fabs((double)attr[j].a - (double)attr[i].a) < fabs((double)lon->a - (double)attr[i].a)))
                lon = &attr[j];
        double *far = lon == NULL ? NULL : tab_arena_new_of(arena, double, PAIRS);
        if (lon == NULL)
            continue;
        if (far == NULL)
            return false;
        attr[i].other = lon;
        lon->other = &attr[i];
        lon->longitude = true;
        size_t known = 0;
        for (uint64_t k = 0; k < PAIRS; k++) {
            far[known] = distance(a, b, &attr[i], (uint32_t)(tab_hash_mix(k, 17) % a->rows),
                                  (uint32_t)(tab_hash_mix(k, 19) % b->rows));
            known += !isnan(far[known]);
        }
        qsort(far, known, sizeof *far, ascending);
        attr[i].far = lon->far = far;
        attr[i].far_n = lon->far_n = known;
    }
    return true;
}

/* Share of random pairs within d km. Below their hundredth part, where few are seen, it falls with the
 * area. */
static double near_share(const tab_attribute *t, double d)
{
    size_t lo = 0, hi = t->far_n, edge = t->far_n / 100;
    if (t->far_n == 0)
        return 1;
    if (d < t->far[edge])
        return 0.01 * (d / t->far[edge]) * (d / t->far[edge]);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (t->far[mid] <= d)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (double)lo / (double)t->far_n;
}

static const struct {
    double share;
    uint8_t level;
} cut[] = { { 1e-6, 2 }, { 1e-4, 3 }, { 3e-3, 4 }, { 0.03, 5 }, { 0.1, 6 }, { 0.3, 7 }, { 0.6, 8 } };

double tab_geo_chance(uint8_t level)
{
    return level == 2 || level == 3 ? cut[level - 2].share : 0;
}

uint8_t tab_geo_compare(const tab_table_view *a, const tab_table_view *b, const tab_attribute *t, uint32_t ra,
                        uint32_t rb, double *similarity)
{
    static const double METRE = 1e-3;
    double d = distance(a, b, t, ra, rb);
    if (isnan(d))
        return TAB_MISSING;
    double q = near_share(t, d);
    if (similarity != NULL)
        *similarity = d <= METRE ? 1 : fmin(1 - q, 0.999);
    if (d <= METRE)
        return TAB_EQUAL;
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        if (q <= cut[i].share)
            return cut[i].level;
    return 9;
}
