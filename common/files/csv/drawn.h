/* Tables drawn with characters, as programs print them for people to read, made texts that are cut at one
 * delimiter:
 *
 *   | id | name |     id | name      +----+------+     id   name          id   name   total
 *   |---:|:-----|    ----+------     | id | name |     ---- ---------     1    Ann B   12.50
 *   |  1 | Ann  |      1 | Ann       +----+------+     1    Ann Baker     2    Bo       1.00
 *
 *   Markdown         psql            mysql, SAP         sqlcmd            fixed width
 *
 * A rule is a line of dashes or equal signs, and bars, plus signs and colons. Where lines between rules are
 * parted by bars, each is cut there; where a rule has several runs of dashes, at the columns where these
 * begin; where there is no rule, at columns that are blank in all of the first lines, if each band between
 * them holds something in the first line and in most others, and some blanks pad. Rules are no lines then,
 * nor is what follows the last line with bars ("(24 rows)"). Decision 0810. */
#ifndef TAB_FILES_DRAWN_H
#define TAB_FILES_DRAWN_H

#include "common/base/arena.h"

enum { TAB_DRAWN_DELIMITER = 0x1F }; /* ASCII's separator of units: no text that people see holds it */

typedef struct {
    bool is;      /* the text was rewritten, unquoted */
    char sign;    /* | or a blank: what cut the fields */
    size_t rules; /* lines left out because they rule */
    size_t below; /* and because they stand below the last line with bars */
} tab_drawn;

/* UTF-8. Looks at the first lines alone unless the table is drawn; `padded`: whether columns of blanks may
 * cut. Errors: INTERNAL (memory). */
tab_status tab_drawn_text(tab_arena *a, tab_str *text, bool padded, tab_drawn *ret,
                          tab_error *err) TAB_CHECKED;

#endif
