/* Tables and what is known of their columns, in few bytes (pack/pack.h). */
#ifndef TAB_PROFILE_PACK_TABLES_H
#define TAB_PROFILE_PACK_TABLES_H

#include "services/inference/engine/pack/pack.h"
#include "services/inference/engine/profile/profile.h"

tab_pack_fn tab_pack_table, tab_pack_profile;
tab_pack_fn tab_pack_column; /* context: how many rows, a size_t */
#endif
