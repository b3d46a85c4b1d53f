/* Places: latitudes and longitudes of one table belong together, and their distance says what neither
 * number does. */
#ifndef TAB_GEO_H
#define TAB_GEO_H

#include "services/inference/engine/link/pairs/compare.h"

/* Great-circle distance in km of two points in degrees (haversine; Sinnott, Sky and Telescope 68, 1984). */
double tab_haversine(double lat_a, double lon_a, double lat_b, double lon_b);

/* Finds attributes that are latitude and longitude of one place, by the roles of their columns and the
 * range of their values, and lets each know the other (tab_attribute.other, far). False: out of memory. */
bool tab_geo_find(const tab_table_view *a, const tab_table_view *b, tab_attribute *attr, size_t n,
                  tab_arena *arena);

/* Level of rows ra and rb by the distance of their places; TAB_MISSING where a coordinate is. similarity,
 * when not NULL: 1 less the share of random pairs that lie as near. */
uint8_t tab_geo_compare(const tab_table_view *a, const tab_table_view *b, const tab_attribute *t, uint32_t ra,
                        uint32_t rb, double *similarity);

/* Chance that random places lie as near as a level says, where it is too small to be counted; else 0. */
double tab_geo_chance(uint8_t level);
#endif
