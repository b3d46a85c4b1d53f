/* Jobs as metrics: how many are open by kind, how long they waited and took, how they ended. */
#ifndef TAB_JOBS_FIGURES_H
#define TAB_JOBS_FIGURES_H

#include "common/base/base.h"

enum { JOBS_KINDS = 9 };
extern const char *const jobs_kinds[JOBS_KINDS];

/* Open jobs of a kind, over all organizations. */
typedef struct {
    int64_t queued, running, oldest_us; /* since when the oldest queued one could begin; 0: none */
} jobs_open;

void jobs_figures_start(void); /* every label set, with 0 */
void jobs_tell_open(const jobs_open of[JOBS_KINDS]);
void jobs_count_wait(const char *kind, double seconds);
void jobs_count_attempt(const char *kind, const char *outcome, double seconds); /* ok, error, away */
void jobs_count_end(const char *kind, const char *status);

#endif
