/* What of this machine is ours: processors and memory, as far as affinity and the control groups that we are
 * in (cgroup v1 and v2, each with all groups above it) leave them to us. The host may have more. */
#ifndef TAB_MACHINE_H
#define TAB_MACHINE_H

#include "common/base/base.h"

typedef struct {
    int64_t cores; /* 1 or more; a share of a processor counts as one */
    size_t memory; /* bytes */
} tab_machine;

tab_machine tab_machine_look(void);

/* The same, from other files: groups is /proc/self/cgroup, mount the folder of the control groups; `whole` is
 * what there is without limits. */
tab_machine tab_machine_limits(const char *groups, const char *mount, tab_machine whole);

#endif
