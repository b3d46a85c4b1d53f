/* The inside of held_out.h, shared by its files only. */
#ifndef TAB_EVALUATE_PARTS_H
#define TAB_EVALUATE_PARTS_H

#include "services/inference/engine/evaluate/held_out.h"
#include "services/inference/engine/evaluate/partition.h"
#include "services/inference/engine/features/units.h"

/* The split of a table, and what is known of its rows. */
typedef struct {
    const tab_profile *p;
    tab_task task;
    uint32_t *class; /* (rows) stratum, TAB_NULL without a target */
    size_t present;  /* rows with a target */
    bool apart;      /* held out by time, group or entity */
    tab_units units;
    tab_partition part;
    tab_table *train, *held;
} tab_held_part;

/* Fits on train, whose columns are profiled anew: nothing of the held-out rows is known to it. *ret: the
 * answers for the held-out rows. */
tab_status tab_answer_held(const tab_engine *e, const tab_evaluate_options *o, tab_task task,
                           const bool *test, const tab_table *train, const tab_table *held,
                           Tabella__Prediction **ret, tab_error *err) TAB_CHECKED;

/* The target of the held rows, and of the others for the baseline; returns how many those are. */
size_t tab_read_truth(const tab_held_part *s, size_t target, double *truth, double *seen);

/* Fills h->regimes (future.c). first: the part that was graded, and m its answers. */
tab_status tab_future(const tab_engine *e, const tab_evaluate_options *o, const tab_held_part *first,
                      const Tabella__Prediction *m, Tabella__HeldOut *h, tab_error *err) TAB_CHECKED;
#endif
