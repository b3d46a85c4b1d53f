/* A column as a vector: what the models see. Computed from the summary alone. No feature reads a name or
 * depends on the layout: a number that arrives as text and one that arrives as a number are one text.
 *
 *   dense   (TAB_DENSE)  shares in 0..1, logarithms, flags; every value finite and within +-16
 *   gram    (TAB_GRAMS)  share of the distinct values that hold the hashed character 1- to 3-gram, as
 *                        square roots scaled to unit length
 *   sector  (TAB_SECTORS) evidence of the values' words for each sector, see words.c
 *   affinity (TAB_SECTORS) the same by what stands near the words, see sector/affinity.h */
#ifndef TAB_FEATURES_H
#define TAB_FEATURES_H

#include "services/inference/engine/lexicon/lexicon.h"
#include "services/inference/engine/profile/cells/checksum.h"
#include "services/inference/engine/profile/cells/identity.h"
#include "services/inference/engine/profile/features/column_summary.h"
#include "services/inference/engine/sector/sectors.h"

enum {
    TAB_DENSE_PLAIN = 176,
    TAB_CROSSED = 98,
    TAB_DENSE_OTHER = TAB_DENSE_PLAIN + TAB_CROSSED,
    TAB_DENSE = TAB_DENSE_OTHER + 2 * TAB_LISTS + TAB_CHECK_COUNT,
    TAB_GRAMS = 2048,
    TAB_LOOKED_AT = 160 /* values of the summary whose words, characters and readings are looked at */
};

typedef struct {
    float dense[TAB_DENSE];
    float gram[TAB_GRAMS];
    float sector[TAB_SECTORS];
    float affinity[TAB_SECTORS];
    /* What the rules and the table pass need in plain. */
    double present, distinct, marks;     /* marks: cells like "?" */
    double check[TAB_CHECK_COUNT];       /* share of distinct non-mark values that pass */
    double identity[TAB_IDENTITY_KINDS]; /* what they prove by their check digits, tab_identity_weigh */
    double beyond_ascii;        /* share of values without a digit whose letters are mostly no ASCII */
    double contacts;            /* values that hold a mail address or telephone number among words */
    double phone_texts, phones; /* values that hold a number without its country; distinct numbers */
    double named;               /* values that hold a given and a family name among words */
    double housed;              /* share of values that are a name and a house number, tab_housed */
    double streets;             /* distinct names among these, */
    double houses;              /* and distinct numbers, by value */
    double initials;            /* share of values that are a family name with initials */
    double patronyms;           /* share of values that end as names of families do, tab_has_patronym */
    double patronym_words;      /* share of values that do, and are several words */
    double compared;            /* share of values that are a number behind a comparison: "<=50K" */
    double families;            /* share of values that are two to four family names and nothing else */
    double numbered;            /* share of values that are names with a number behind each word, */
    double numbered_words;      /* those of several words, */
    double numbered_given;      /* that begin with a given name by the lists, */
    double numbered_family;     /* and that end with a family name; */
    double numbered_initials;   /* letters that they begin with */
    double org_forms;           /* share of values with a legal form of firms among their words */
    double vin_letters;         /* letters A to Z that stand in values of a VIN's shape */
    size_t values;              /* distinct non-mark values looked at */
    double number_share, date_share, clock_share, duration_share;
    double min, max, q50;
    bool fraction; /* numbers that are not all whole */
    bool drawn;    /* whole numbers that repeat as often as draws from their range would */
    bool heaped;   /* whole numbers that repeat, with last digits that people prefer */
    bool counted;  /* 1, 1, 1, 2, 2, 2, 3 ...: counted up through the rows, many rows a number */
} tab_features;

void tab_features_of(const tab_summary *s, tab_features *ret);
#endif
