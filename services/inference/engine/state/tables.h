/* Tables and what is known of their columns, in few bytes (pack.h). */
#ifndef TAB_STATE_TABLES_H
#define TAB_STATE_TABLES_H

#include "services/inference/engine/profile/profile.h"
#include "services/inference/engine/state/pack.h"

tab_pack_fn tab_pack_table, tab_pack_profile;
tab_pack_fn tab_pack_column; /* context: how many rows, a size_t */
#endif
