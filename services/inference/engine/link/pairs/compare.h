/* How alike two values of one attribute are: a level from equal to different, by the column's kind. */
#ifndef TAB_LINK_COMPARE_H
#define TAB_LINK_COMPARE_H

#include "services/inference/engine/align/view.h"

enum {
    TAB_MISSING,    /* a value is absent on a side: no evidence */
    TAB_EQUAL,      /* equal normal forms */
    TAB_LEVELS = 10 /* 2 .. 9: less and less alike */
};

/* An attribute that two tables share, and how its numbers relate. */
typedef struct tab_attribute {
    size_t a, b; /* columns */
    double confidence;
    bool numeric;   /* both sides have numbers that may be compared */
    double scale;   /* b's number = scale * a's where units differ; 1 otherwise */
    double *sorted; /* (sorted_n) numbers of both sides in a's unit, ascending */
    size_t sorted_n;
    /* geo.c: the other coordinate of a place, or NULL; both are compared by distance, each with half its
     * weight */
    const struct tab_attribute *other;
    bool longitude;
    double *far; /* (far_n) km between random rows, ascending */
    size_t far_n;
} tab_attribute;

/* Tokens of two values of one attribute, for their evidence in link/evidence/agreement.c. */
typedef struct {
    float gain;  /* sum over shared tokens of -log of the token's share of all rows; near tokens in part */
    float exact; /* the part of gain from equal tokens */
    uint8_t shared, left_a, left_b; /* tokens; near ones count as shared */
} tab_token_match;

/* Similarity of two normal forms, 0..1: the better of edit similarity and idf-weighted agreement of
 * tokens, in which near tokens, initials and abbreviations count in part. ret may be NULL. */
double tab_text_similarity(const tab_views *v, const tab_value *x, const tab_value *y, tab_token_match *ret);

/* Edit similarity 1 - d / max(n, m) with d the optimal string alignment distance (a swap of neighbours
 * counts once); 0 where a side is longer than 64 bytes. Myers' bit vectors as extended by Hyyro (2003). */
double tab_edit_similarity(tab_str x, tab_str y);

/* tokens may be NULL; filled where the values are compared as text. */
uint8_t tab_compare(const tab_views *v, const tab_attribute *t, const tab_value *x, const tab_value *y,
                    tab_token_match *tokens);

/* How alike two values are, 0..1, for people: 1 for equal normal forms only. Of numbers and dates, 1 less
 * the share of the attribute's that lie as near, or the edit similarity where that is higher (a digit
 * mistyped). */
double tab_similarity(const tab_views *v, const tab_attribute *t, const tab_value *x, const tab_value *y);
#endif
