/* The quality of a prediction on rows it never saw. A quarter of the rows is held out; everything (profile,
 * features, folds, calibration) is made from the rest; the held-out rows are scored as a serve call would
 * score them.
 *
 *   task             metric (score)   metrics[]
 *   classification   accuracy         accuracy auc log_loss ece baseline_majority baseline_log_loss skill
 *                    or auc           lift_pp
 *   regression       r2               rmse nrmse mae r2 coverage_80 baseline_mean lift_pp
 *   anomaly          score_separation score_separation flagged_share baseline_share lift_pp (unsupervised)
 *   with labels      pr_auc           precision recall pr_auc auc flagged_share baseline_share lift_pp
 *
 * precision and recall are of the rows at or above the threshold; pr_auc is average precision. baseline_share
 * is the labelled share, which is the average precision of a random order (without labels: the share that was
 * expected above the threshold). Without a labelled anomaly among the held-out rows the metric is
 * score_separation.
 *
 * baseline_majority is the accuracy of always answering the commonest class, baseline_log_loss the log-loss
 * of always answering the classes' shares, skill the share of it that the answers take off; baseline_mean is
 * the RMSE of always answering the mean. Of two classes, one of which has 70 % of the rows, the score is the
 * AUC. lift_pp is the gain over the baseline in percentage points (accuracy; share of the RMSE removed).
 * nrmse = rmse / the held-out target's standard deviation. */
#ifndef TAB_HELD_OUT_H
#define TAB_HELD_OUT_H

#include "services/inference/engine/predict/fitted.h"
#include "services/inference/engine/relational/relational.h"

typedef struct {
    const char *base;
    tab_task task;          /* AUTO: by the target */
    size_t target;          /* column */
    bool labels;            /* ANOMALY: target holds labels (tab_anomaly_labels); else it is not read */
    uint32_t table;         /* which table of the run this is */
    const tab_given *given; /* what the caller says of cells and columns; NULL: nothing */
    tab_split split;        /* AUTO is RANDOM here: predict/asked/arrange.h decides */
    size_t by;              /* TIME and GROUP: the column of times or groups */
    const uint32_t *entity; /* (rows) rows with one number stay on one side of the split; NULL: by row */
    tab_anomaly_cut cut;    /* ANOMALY: which rows are flagged */
    const tab_links *links; /* of t; what they say is chosen anew on the other rows; NULL: t alone */
} tab_evaluate_options;

/* Splits by e->seed, stratified by class for classification; copies of a row stand on one side, and so do
 * rows of a group that has one target (features/units.h): `unit` says which. TIME holds out the last quarter,
 * GROUP whole groups. ret lives in e->arena. Fewer than 8 rows with a target are VALIDATION
 * ("target.column"); other errors as tab_fit's. */
tab_status tab_evaluate(const tab_engine *e, const tab_table *t, const tab_evaluate_options *o,
                        Tabella__HeldOut **ret, tab_error *err) TAB_CHECKED;
#endif
