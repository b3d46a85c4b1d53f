/* What a word has to do with each sector, for words that no list holds: "zinfandel" stands by "merlot",
 * which the list of food and beverage holds. tools/affinity walks WordNet's graph from every word to the
 * lists (decision 0605) and writes affinity.model, which is linked in, so that it is mapped from the
 * program's file, shared by all processes and read in place.
 *
 * A row is a word's evidence for each sector in halves: the log probability that its walks end at the
 * sector's terms, less the mean over sectors, times how much the word tells at all (the divergence of that
 * distribution from the even one). The table keeps hashes, no text, as the lexicon's does. */
#ifndef TAB_AFFINITY_H
#define TAB_AFFINITY_H

#include "services/inference/engine/sector/sectors.h"

typedef struct {
    int8_t of[TAB_SECTORS];
} tab_affinity;

static const float TAB_AFFINITY_UNIT = 0.5f;

/* The row of a folded word or group of words, or of the word that it is a form of (wines, baked); NULL: no
 * such word. */
const tab_affinity *tab_affinity_find(tab_str word);

/* Adds the mean row of the folded text's words: of the text as a whole where it is known, else of its pairs
 * of neighbouring words and of its single ones. Returns whether any was known. */
bool tab_affinity_of_text(tab_str folded, float *sum /* (TAB_SECTORS) */);

/* The sector for which the row speaks with more weight than for all others together; -1: none. */
int tab_affinity_sector(const tab_affinity *row);

enum { TAB_AFFINITY_FORMS = 9, TAB_AFFINITY_LONGEST = 60, TAB_AFFINITY_WORDS = 24 };

/* Form k of a word, 0 the word itself, then what English endings may have come from: families, family.
 * buf holds TAB_AFFINITY_LONGEST + 4 bytes. Empty where the word has no such ending. */
tab_str tab_affinity_form(tab_str word, size_t k, char *buf);

/* Cuts the next word of three letters and more from the front of *rest; empty: none is left. */
tab_str tab_affinity_next(tab_str *rest);

/* The file's layout: header, fingerprints of the slots (0: free), how many slots are taken before each block
 * of them, rows in the order of the slots that are taken: a slot's row is its rank, which costs nothing.
 * 32-bit numbers are little-endian. */
enum { TAB_AFFINITY_BLOCK = 64 };
typedef struct {
    char magic[8];        /* "TABAFF2\n" */
    uint32_t slots, rows; /* slots: a power of two */
} tab_affinity_header;

enum { TAB_AFFINITY_SEED = 29 }; /* of the hash that names a slot */
#endif
