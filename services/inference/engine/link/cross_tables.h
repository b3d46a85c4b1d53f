/* What belongs together across tables: columns that hold one attribute (align/), rows that are one
 * entity (link/), one record for each entity (unify/). Values decide; column names are never read.
 *
 *   profiles ─> column views ─> align ─> link ─> align again on matched rows ─> clusters ─> unify
 */
#ifndef TAB_CROSS_TABLES_H
#define TAB_CROSS_TABLES_H

#include "services/inference/engine/keys/keys.h"

/* The map between n >= 2 profiled tables and one record an entity.
 *
 *   threshold  alignments and matches of at least this confidence are reported, 0..1
 *   ret_map, ret_unified, ret_records_linked   written on success; all memory is e->arena's
 *   ret_references                             the references between the tables; NULL: not asked for
 *
 * One input gives one output, byte for byte, whatever e->parallel_for does. Tables without rows or
 * with nothing in common give an empty map and their own rows as entities.
 * Errors: CANCELLED, INTERNAL (out of memory). */
tab_status tab_cross_tables(const tab_engine *e, tab_profile *const *profiles, size_t n, double threshold,
                            Tabella__CrossTableMap **ret_map, Tabella__UnifiedRows **ret_unified,
                            uint64_t *ret_records_linked, tab_references *ret_references,
                            tab_error *err) TAB_CHECKED;
#endif
