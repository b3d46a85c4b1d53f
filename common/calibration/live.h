/* Intervals and shares that follow outcomes, as messages: jobs writes them, the api serves by them. */
#ifndef TAB_CALIBRATION_LIVE_H
#define TAB_CALIBRATION_LIVE_H

#include "common/base/arena.h"
#include "common/calibration/intervals.h"
#include "common/calibration/shares.h"
#include "proto/jobs.pb-c.h"

/* Fills what is served of numbers, or of classes. False: out of memory. */
bool tab_live_put_bands(tab_arena *a, const tab_bands *b, Tabella__LiveCalibration *ret) TAB_CHECKED;
bool tab_live_put_shares(tab_arena *a, const tab_shares *s, Tabella__LiveCalibration *ret) TAB_CHECKED;
/* False: it is none that these functions wrote. */
bool tab_live_get_bands(const Tabella__LiveCalibration *c, tab_bands *ret) TAB_CHECKED;
bool tab_live_get_shares(const Tabella__LiveCalibration *c, tab_shares *ret) TAB_CHECKED;

/* What the next outcome of a number moves. NULL: out of memory. */
Tabella__LiveBands *tab_live_of_state(tab_arena *a, const tab_bands_state *s) TAB_CHECKED;
bool tab_live_get_state(const Tabella__LiveBands *b, tab_bands_state *ret) TAB_CHECKED;

#endif
