/* What users and groups of a directory share; the rest is in people.h. */
#ifndef KEYS_DIRECTORY_H
#define KEYS_DIRECTORY_H

#include "services/keys/people/people.h"

enum { DIRECTORY_TEXT = 255 };           /* bytes of a text of a directory */
bool directory_text_good(const char *s); /* one line, not too long */
/* Of the arena; NULL: no memory. */
Tabella__DirectoryGroupName *directory_name(tab_arena *a, tab_str id, tab_str name);

#endif
