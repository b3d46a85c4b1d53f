/* A folder of states, one file each, bounded: the least recently used go first. The files are a cache: any of
 * them may be lost or damaged, for what reads them checks a digest. Only the daemon's user may read them.
 *
 *   ENDPOINT-STATE.state   16 hexadecimal digits each, of hashes: no name of a tenant is seen */
#ifndef TAB_STATE_DISK_H
#define TAB_STATE_DISK_H

#include "common/base/arena.h"

typedef struct state_disk state_disk;

/* Makes the folder where it is not there, and takes what lies in it. NULL: it cannot be used (logged), or
 * memory is out. sealed: files that no data key has sealed go, as they are kept in PostgreSQL. */
state_disk *state_disk_open(const char *folder, size_t budget_bytes, bool sealed);
void state_disk_free(state_disk *d); /* the files stay; NULL is fine */
TAB_DEFINE_AUTO(state_disk)

/* owner: what is dropped together ("ORG/ENDPOINT/"); name: of the state, with its release. *ret: malloc'd; p
 * is NULL where it is not there. d may be NULL: nothing is there. */
tab_str state_disk_read(state_disk *d, tab_str owner, tab_str name);
bool state_disk_has(state_disk *d, tab_str owner, tab_str name);
/* False: it could not be written, or is larger than the budget. */
bool state_disk_write(state_disk *d, tab_str owner, tab_str name, tab_str bytes);
void state_disk_remove(state_disk *d, tab_str owner, tab_str name); /* a file that is broken */
void state_disk_drop(state_disk *d, tab_str owner);

typedef struct {
    size_t count, bytes;
    uint64_t evicted;
} state_disk_figures;
state_disk_figures state_disk_look(state_disk *d);

#endif
