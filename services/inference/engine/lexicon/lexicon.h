/* What the engine knows of words: which lists (given names, cities, units ...) and which sectors a term is
 * in. The text files beside this header are compiled by tools/compile_lexicon.c into one read-only table that
 * is linked in, so that it is mapped from the program's file and shared by all processes.
 *
 * A file is `# note` lines and terms divided by ';' or line ends, as they stand in tables; terms are folded
 * (lexicon/fold_text.h) when compiled. Terms below a line that begins with `#+` are looked up like the
 * others, but tools/train draws none of them for its tables. A sector's term stands for its other number and
 * for itself joined by _ or - as well (decision 0350). The table keeps hashes, no text: slot and 32 bits of
 * fingerprint make a false answer as rare as 1 in 2^32 look-ups. */
#ifndef TAB_LEXICON_H
#define TAB_LEXICON_H

#include "common/base/base.h"

/* clang-format off */
#define TAB_LEXICON_LISTS(X)                                                                        \
    X(FIRST_NAME, first_name) X(LAST_NAME, last_name) X(PERSON_TITLE, person_title)                 \
    X(CITY, city) X(COUNTRY, country) X(COUNTRY_CODE2, country_code2) X(COUNTRY_CODE3, country_code3) \
    X(REGION, region) X(REGION_US, region_us) X(REGION_CODE, region_code)                           \
    X(REGION_CODE_FULL, region_code_full) X(CURRENCY_CODE, currency_code)                           \
    X(CURRENCY_NAME, currency_name) X(LANGUAGE, language) X(LANGUAGE_CODE, language_code)           \
    X(TIMEZONE, timezone) X(AIRPORT_CODE, airport_code) X(AIRPORT_NAME, airport_name)               \
    X(NATIONALITY, nationality) X(GENDER, gender) X(MARITAL_STATUS, marital_status)                 \
    X(EDUCATION_LEVEL, education_level) X(ETHNICITY, ethnicity) X(RELIGION, religion)               \
    X(JOB_TITLE, job_title) X(JOB_WORD, job_word) X(STREET_WORD, street_word)                       \
    X(ORG_FORM, org_form) X(ORG_WORD, org_word) X(PLACE_WORD, place_word) X(STATUS, status)         \
    X(UNIT, unit) X(COLOR, color) X(SPECIES, species) X(STOP_WORD, stop_word)                       \
    X(CATEGORY_WORD, category_word) X(TICKER, ticker) X(COMPANY, company) X(AIRLINE, airline)       \
    X(DISEASE, disease) X(DRUG, drug) X(PRODUCT_WORD, product_word) X(CAR_MAKE, car_make)           \
    X(CAR_MODEL, car_model) X(RANGE_WORD, range_word) X(GENRE, genre)                               \
    X(BROWSER_WORD, browser_word) X(TLD, tld)
/* clang-format on */

typedef enum {
#define TAB_X(e, file) TAB_LIST_##e,
    TAB_LEXICON_LISTS(TAB_X)
#undef TAB_X
        TAB_LISTS
} tab_list;

typedef struct {
    uint64_t lists;   /* bit TAB_LIST_x */
    uint32_t sectors; /* bit of tab_sectors[] */
    uint32_t pad;
} tab_lexeme;

/* The term's lists and sectors, or NULL. `term` is folded. */
const tab_lexeme *tab_lexicon_find(tab_str term);

/* The file's layout: header, then slots, then sets. Little-endian. */
typedef struct {
    char magic[8];        /* "TABLEX1\n" */
    uint32_t slots, sets; /* slots: a power of two */
} tab_lexicon_header;
typedef struct {
    uint32_t fingerprint; /* 0: free */
    uint32_t set;
} tab_lexicon_slot;

static inline uint32_t tab_lexicon_fingerprint(uint64_t hash)
{
    uint32_t f = (uint32_t)(hash >> 32);
    return f == 0 ? 1 : f;
}
#endif
