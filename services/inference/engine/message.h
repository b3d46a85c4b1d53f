/* Bundle messages in the engine's arena. */
#ifndef TAB_MESSAGE_H
#define TAB_MESSAGE_H

#include "services/inference/engine/engine.h"

/* A message of type `Name` in arena a, initialised; NULL when the arena is full.
 *   Tabella__Results *r = tab_message(a, Tabella__Results, TABELLA__RESULTS__INIT); */
#define tab_message(a, type, init)                       \
    __extension__({                                      \
        type *message_ = tab_arena_new_of((a), type, 1); \
        if (message_ != NULL)                            \
            *message_ = (type)init;                      \
        message_;                                        \
    })

/* Protobuf text fields are `char *`; constants are never written to. */
static inline char *tab_text(const char *s)
{
    return (char *)(uintptr_t)s;
}

/* A column's cells as they travel (proto/table.proto). */
Tabella__Column *tab_cells_message(tab_arena *a, const tab_column *c, size_t rows);
/* The text of class k of a prediction's classes, in the arena. */
ProtobufCBinaryData tab_class_text(tab_arena *a, const Tabella__Column *classes, size_t k);
/* "table.column" of column `col` of table `table`. */
Tabella__ColumnRef *tab_column_ref(tab_arena *a, const tab_table *t, uint32_t table, size_t col);
#endif
