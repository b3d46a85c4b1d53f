/* What bundle.c gives to serving beside the whole pass (engine.h). */
#ifndef TAB_BUNDLE_H
#define TAB_BUNDLE_H

#include "services/inference/engine/profile/profile.h"

/* A profiled table as the bundle's `tables[]` shows it. Lives in the arena; NULL when it is full. */
Tabella__TableUnderstanding *tab_understanding(tab_arena *a, const tab_profile *p);

#endif
