/* The answer of POST /v2/data/generate, which the api writes, or jobs where it became a job. */
#ifndef TAB_GENERATED_JSON_H
#define TAB_GENERATED_JSON_H

#include "common/json/json.h"
#include "proto/inference.pb-c.h"

/* The members, without the object's brackets. datasets[] is there where all linked tables were made. */
void tab_generated_members(tab_out *o, const Tabella__GenerateRequest *q, const Tabella__GenerateReply *y);
#endif
