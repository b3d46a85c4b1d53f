/* The fitted state of an endpoint: read by any number of calls at once; only the imputers come later. */
#ifndef TAB_SERVE_STATE_H
#define TAB_SERVE_STATE_H

#include "services/inference/engine/predict/fitted.h"
#include "services/inference/engine/predict/select.h"
#include "services/inference/inference.h"

/* What fills the missing cells of a column: fitted when a request first lacks one. */
typedef struct {
    bool tried;
    tab_fitted *fitted; /* NULL after a try: nothing can be learned; the usual value is taken */
    double mean, sd;    /* numeric columns: of the present values */
    uint32_t mode;      /* coded columns: the most frequent level, TAB_NULL without any */
    double mode_share;
} serve_imputer;

typedef struct {
    tab_arena *arena;
    const char *base;
    size_t n;
    const tab_table **table;            /* (n) pinned */
    tab_profile **profile;              /* (n) */
    Tabella__TableUnderstanding **seen; /* (n) */
    uint64_t cells;
    bool explain;
    double threshold;
    tab_selection sel;
    tab_fitted *fitted; /* NULL without a prediction */
    pthread_mutex_t lock; /* of the imputers' making */
    serve_imputer **imputer; /* (n)(cols) */
} serve_state;

#endif
