/* Shared by the files that make a column's feature vector (features.h): features.c gathers and writes it,
 * number_features.c has the part about numbers, words.c the one about words. */
#ifndef TAB_FEATURES_INTERNAL_H
#define TAB_FEATURES_INTERNAL_H

#include <math.h>

#include "services/inference/engine/profile/features/features.h"

/* Counts over the sampled distinct values, by value or by the cells that hold it. */
typedef struct {
    double distinct, cells; /* values and cells that are no marks */
    double values, looked;  /* of them, those that all looks are spent on */
    double marks, words_unknown;
    /* characters, over values */
    double len, len2, tokens, min_len, max_len;
    double letters, digits, upper, blanks, other;
    double punct[12]; /* values that hold one of "-./:,_@#()'&" */
    double one_token, two_tokens, three_tokens, many_tokens;
    double starts_digit, ends_digit, starts_upper, all_upper, all_lower, title, mixed, all_digits,
        all_letters, long_text;
    double lead_zero, beyond_ascii;
    double full[TAB_LISTS], token[TAB_LISTS], check[TAB_CHECK_COUNT];
    double named;    /* texts of which a given name stands before a family name, in any case of letters */
    double families; /* values that are several family names and nothing else */
    double month, weekday, first_given, last_family, sep_comma, sep_semicolon, sep_pipe, bracket, quote;
    uint64_t bool_pairs;
    /* numbers, over cells */
    double num, affix[TAB_AFFIXES], grouped, exponent, bounded, decimal[8], dec_max;
    double integer, negative, zero, m5, m10, m100, m1000, cents99, half;
    double dates, date_only, datetime, midnight, period, compact, clock, duration, weekend, first_of_month;
    double top, entropy;
} gather;

typedef struct {
    double x, w;
} weighted;

enum { TAB_WORDS = 24 }; /* words of a value that are looked up: bounds the cost of long texts */

/* Where the first TAB_WORDS words of a folded text begin and end, marks at a word's end left out. Returns
 * how many. */
size_t tab_words_of(tab_str folded, size_t from[TAB_WORDS], size_t to[TAB_WORDS]);

/* The parts of a word between _ - . and #, of three bytes at least; none where it has no such mark. */
size_t tab_parts_of(tab_str word, size_t from[TAB_WORDS], size_t to[TAB_WORDS]);

/* Looks a folded value up: counts the lists that it and its words are in, adds their votes for sectors. */
void tab_look_up(tab_str folded, gather *g, float *sector /* (TAB_SECTORS) */);

/* Where the next numbers of a vector go; what lies beyond the end is dropped. */
typedef struct {
    float *at, *end;
} cursor;

static inline void put(cursor *c, double x)
{
    if (c->at < c->end)
        *c->at++ = (float)(isnan(x) ? 0 : x > 16 ? 16 : x < -16 ? -16 : x);
}

/* One row a number of the vector: the value, then what it is for. Shares stand as they are; sizes enter as
 * logarithms, divided so that common columns lie between 0 and about 2. The divisors only set how strongly
 * the models' penalty acts on a number; the weights are fitted to them. The models are trained on this
 * order: a new number goes to the end (TAB_DENSE_PLAIN) and the models are trained again. */
#define PUT_ROWS(c, rows)                                         \
    for (size_t i_ = 0; i_ < sizeof(rows) / sizeof *(rows); i_++) \
    put(c, (rows)[i_])

static inline double share(double a, double b)
{
    return b > 0 ? a / b : 0;
}

int tab_weighted_by_x(const void *a, const void *b); /* for qsort */
/* v (n) sorted, of `total` weight; 0 where there are none. */
double tab_weighted_quantile(const weighted *v, size_t n, double total, double q);
/* A number that w cells hold. */
void tab_number_gather(const tab_number *x, double w, gather *g);
/* Writes what the numbers v (n) say on their own; sorts them. */
void tab_number_features(cursor *c, const tab_summary *s, const gather *g, weighted *v, size_t n,
                         tab_features *f);
/* Statistics that mean something only together, for models that are linear: a median of 30 with two
 * decimals is a price, with none a count, with five a measure. `v` is sorted. */
void tab_crossed_features(cursor *c, const gather *g, const weighted *v, size_t n, const tab_features *f);
#endif
