/* The frequent values of a stream, in bounded room: counters, of which the median count is taken off when
 * they are full (sketch.h). Until then they are all values, with their counts. */
#ifndef TAB_FREQUENT_H
#define TAB_FREQUENT_H

#include "common/json/spread.h"

typedef struct {
    uint64_t hash, count, lost; /* lost: what was taken off since it is here */
    uint64_t first;             /* its place among all that came */
    double number;              /* NaN: a text */
    uint8_t n;
    char text[TAB_SPREAD_TEXT];
} tab_frequent_value;

typedef struct {
    tab_frequent_value *value; /* (n), most: room */
    size_t n, most, room;
    uint32_t *slot; /* (slots) place of a value, from 1; 0: free */
    size_t slots;
    uint64_t came, off; /* off: what was taken off in all: a value that is not there has no more cells */
    bool dropped;       /* some value was */
} tab_frequent;

void tab_frequent_init(tab_frequent *f, size_t most);
void tab_frequent_free(tab_frequent *f);
/* `times` more of a value, a number or (NaN) a text. False: out of memory. */
bool tab_frequent_add(tab_frequent *f, uint64_t hash, double number, tab_str text, uint64_t times);
/* n values, as they lay in the `value` of another, into one that is empty; false: out of memory, or no
 * values. */
bool tab_frequent_fill(tab_frequent *f, const char *values, size_t n);
const tab_frequent_value *tab_frequent_find(const tab_frequent *f, uint64_t hash); /* NULL: not there */

#endif
