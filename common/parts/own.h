/* What the files of this folder share; not for anybody else. */
#ifndef TAB_PARTS_OWN_H
#define TAB_PARTS_OWN_H

#include "common/parts/parts.h"

bool part_column(tab_part *p, tab_str name, tab_file_type type); /* one more; false: the arena is full */
bool part_open_column(tab_part *p, tab_str name);
tab_status part_absent(tab_error *err, const char *what);
/* The piece that holds element at of the cursor's array; at < total. */
tab_status part_seek(tab_part *p, tab_part_cursor *c, tab_error *err) TAB_CHECKED;

/* A builder for each column; a table of what they have built. */
tab_status part_builders(tab_part *p, tab_arena *a, tab_builder ***ret, tab_error *err) TAB_CHECKED;
tab_status part_finished(tab_arena *a, tab_builder *const *b, size_t cols, size_t rows, const tab_table **ret,
                         tab_error *err) TAB_CHECKED;

extern const tab_part_kind part_kinds[]; /* of parts.c; behind the last one without a name */
extern const tab_part_kind part_filled_kind;

#endif
