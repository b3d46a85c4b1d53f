/* What each column of a table says of two of its rows: which row it is, whose it is, or what is known of
 * whose it is anyway. */
#ifndef TAB_LINK_VOICES_H
#define TAB_LINK_VOICES_H

#include "services/inference/engine/keys/grain.h"

typedef enum {
    TAB_VOICE_WHICH, /* rows that are one agree in it, others hardly do */
    TAB_VOICE_WHOSE, /* rows that differ in it are two; rows that agree may be two as well */
    TAB_VOICE_AGAIN  /* repeats of the thing what names it says: not heard */
} tab_voice;

/* (cols) of table t, in arena a; NULL: it is full. References say whose a row is. Of observations so do the
 * columns that name the thing, and the moment; what most rows of a thing agree in is said again (decision
 * 0595). k: the references between tables; g: what the table's rows are. */
tab_voice *tab_voices_of(const tab_views *v, const tab_keys *k, const tab_grain *g, size_t t, tab_arena *a);

#endif
