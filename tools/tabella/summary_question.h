/* What the summary says of the question itself (tools/tabella/summary_question.c), on stdout. */
#ifndef TABELLA_SUMMARY_QUESTION_H
#define TABELLA_SUMMARY_QUESTION_H

#include "common/table/table.h"
#include "proto/bundle.pb-c.h"

void print_regimes(const Tabella__Prediction *p); /* a line each of those that rows are asked in */
void print_linked(const tab_table *const *tables, const Tabella__Prediction *p);
void print_forecast(const Tabella__Forecast *f); /* how times were read, and the first rows */
#endif
