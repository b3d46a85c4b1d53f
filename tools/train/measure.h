/* Labelled tables with a model's answers, and what those are worth. */
#ifndef TAB_TRAIN_MEASURE_H
#define TAB_TRAIN_MEASURE_H

#include <stdio.h>

#include "services/inference/engine/profile/roles/stages.h"
#include "tools/train/labelled.h"

typedef struct {
    const tab_labelled *label;
    tab_staged *col;
    tab_staged **ptr; /* (cols) */
    float *sector;    /* (TAB_SECTORS) */
    int group;        /* source */
    bool real;
} sample;

typedef struct {
    sample *s;
    size_t n;
} samples;

/* p with room for n; the program ends without memory. */
void *train_grown(void *p, size_t n, size_t size);

/* Prints accuracy, personal data, sectors and calibration of the real samples; each answer into dump, or
 * NULL. */
void train_score(const samples *all, FILE *dump);

#endif
