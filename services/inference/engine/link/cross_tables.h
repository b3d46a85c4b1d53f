/* What belongs together across tables: columns that hold one attribute (align/), rows that are one
 * entity (link/), one record for each entity (unify/). Values decide; column names are never read.
 *
 *   profiles ─> column views ─> align ─> link ─> align again on matched rows ─> clusters ─> unify
 */
#ifndef TAB_CROSS_TABLES_H
#define TAB_CROSS_TABLES_H

#include "services/inference/engine/keys/keys.h"

/* The map between n profiled tables, one record an entity, and the duplicates within each; of one table its
 * duplicates alone.
 *
 *   threshold       alignments, matches and duplicates of at least this confidence are reported, 0..1
 *   ret             cross_table_map, unified_rows, records_linked and duplicates are written on success; all
 *                   memory is e->arena's
 *   ret_references  the references between the tables; NULL: not asked for
 *
 * One input gives one output, byte for byte, whatever e->parallel_for does. Tables without rows or
 * with nothing in common give an empty map and their own rows as entities.
 * Errors: CANCELLED, INTERNAL (out of memory). */
tab_status tab_cross_tables(const tab_engine *e, tab_profile *const *profiles, size_t n, double threshold,
                            Tabella__Bundle *ret, tab_references *ret_references, tab_error *err) TAB_CHECKED;
#endif
