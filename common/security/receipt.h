/* Receipts: what an endpoint has predicted for one row, as a signed text that the caller keeps until the
 * truth is known. Nothing is stored for it (decision 0421).
 *
 *   "rct_" + base64url( version, task, regime, id, time, revisions, what was predicted, signature )
 *
 * Of an endpoint whose answers follow outcomes it also holds the model's own figures and those of the experts
 * that were weighed, as they were when the row was served (version 2; decision 0477).
 *
 * Where the endpoint knows to which parts of its rows the row belongs ("goods.colour = red") their names
 * stand at the end, sealed under the endpoint's key (decision 0818): like those of classes they are nobody
 * else's.
 *
 * Integers and doubles are little-endian. The signature is keyed BLAKE2b (RFC 7693), 16 bytes, over all that
 * stands before it and the endpoint's id, under the endpoint's own key: a receipt of another endpoint, of
 * another organization, or a changed one, does not hold.
 *
 * Classes stand as hashes of their texts, the likeliest TAB_RECEIPT_CLASSES of them, and the rest as one
 * share: a receipt tells nobody the name of a class, and its size is bounded. */
#ifndef TAB_RECEIPT_H
#define TAB_RECEIPT_H

#include "common/base/base.h"

enum {
    TAB_RECEIPT_KEY = 32,
    TAB_RECEIPT_ID = 16,
    TAB_RECEIPT_CLASSES = 64,
    TAB_RECEIPT_EXPERTS = 24,
    TAB_RECEIPT_SLICES = 4,
    TAB_RECEIPT_SLICE = 64, /* bytes of a slice's name and its NUL */
    TAB_RECEIPT_TEXT = 1888 /* bytes that hold any receipt's text and its NUL */
};

typedef enum { TAB_RECEIPT_NUMBER = 1, TAB_RECEIPT_CLASS, TAB_RECEIPT_ANOMALY } tab_receipt_task;

typedef struct {
    tab_receipt_task task;
    uint8_t regime;             /* as Results.regime */
    uint8_t id[TAB_RECEIPT_ID]; /* one a row that was answered, for ever */
    int64_t at_us;              /* when it was served */
    uint32_t config_revision, data_revision;
    double value, low, median, high; /* numbers: the interval of 0.1 and 0.9 */
    double score;                    /* anomalies */
    bool flagged;
    size_t classes;  /* how many stand here, the label first */
    uint32_t others; /* how many do not, and their share together */
    double rest;
    struct {
        uint64_t hash; /* tab_receipt_class of its text */
        float share;
        float own; /* followed: the model's own share */
    } of[TAB_RECEIPT_CLASSES];
    bool followed;                        /* the endpoint's answers follow outcomes: */
    uint64_t state;                       /* its calibration_state, */
    double own_low, own_median, own_high; /* numbers: the model's own quantiles, */
    float expert[TAB_RECEIPT_EXPERTS];    /* and what each expert had for thresholds */
    size_t slices;                        /* parts of the rows that this one belongs to, by their names */
    char slice[TAB_RECEIPT_SLICES][TAB_RECEIPT_SLICE];
} tab_receipt;

/* Of a class as JSON text. */
uint64_t tab_receipt_class(tab_str text);

/* Writes text and NUL; gives the text's length. A receipt that tab_receipt_sound refuses is a mistake. */
size_t tab_receipt_sign(const uint8_t key[TAB_RECEIPT_KEY], tab_str endpoint, const tab_receipt *r,
                        char ret[TAB_RECEIPT_TEXT]);

/* False: it is no receipt, it was changed, or it was signed for another endpoint. What it gives is sound. */
bool tab_receipt_read(const uint8_t key[TAB_RECEIPT_KEY], tab_str endpoint, tab_str text,
                      tab_receipt *ret) TAB_CHECKED;

/* Finite figures, shares within 0 and 1, at most so many classes, names of slices that are texts. */
bool tab_receipt_sound(const tab_receipt *r) TAB_CHECKED;

#endif
