/* What the library's files share: what is behind a tabella. */
#ifndef TABELLA_LIBRARY_OWN_H
#define TABELLA_LIBRARY_OWN_H

#include "common/json/json.h"
#include "services/inference/engine/bundle.h"
#include "services/inference/pool.h"
#include "tools/library/tabella.h"

enum { LIBRARY_TABLES = 64, LIBRARY_COLUMNS = 1 << 17 };

struct tabella {
    tab_arena *arena;
    const tab_table *table[LIBRARY_TABLES];
    tab_str reading[LIBRARY_TABLES]; /* how a file was read, as JSON; of other tables empty */
    size_t n, threads;
    tab_run_options o;
    atomic_bool cancel;
    bool ran, tables_given; /* not only files */
    atomic_size_t holders;  /* beside the first: who still reads what it has made */
    Tabella__Bundle *bundle;
    bool served;        /* the bundle is of tabella_serve, */
    tabella *served_by; /* and has texts of this one's */
    void (*report)(void *arg, const char *phase, double done);
    void *report_arg;
    tab_out result;
    tab_profile *profile; /* of tabella_fit; in the arena */
    tab_fitted *fitted;
    tab_selection selection; /* of tabella_fit */
    const char *notes;
    tab_error err; /* what went wrong last */
    char error[1024];
};

/* Says what is wrong with what was asked for; gives -1. */
int library_failed(tabella *t, const char *param, const char *message);
int library_no_memory(tabella *t);
int library_error(tabella *t, const tab_error *err);
/* The one computation of a tabella: 0 with an engine and, where threads were asked for, its pool. */
int library_begin(tabella *t, tab_engine *e, tab_pool **pool);
/* The bundle as the result. */
int library_print(tabella *t, Tabella__Bundle *b);
/* The same, which tabella_free leaves until all who hold it have freed it. */
tabella *library_hold(const tabella *t);
/* given.c: the options columns and na, texts of the arena. */
int library_columns(tabella *t, tab_str json);
int library_marks(tabella *t, tab_str said);

#endif
