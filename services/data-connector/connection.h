/* A connection as it was registered, and tasks run for it (child.h): what connect.c and write.c share. */
#ifndef DATA_CONNECTION_H
#define DATA_CONNECTION_H

#include "services/data-connector/data.h"
#include "services/data-connector/reader/child.h"

typedef struct {
    const char *id, *name, *dataset;
    Tabella__ConnectRequest *source; /* its ref, options and credentials */
    bool writable;
    tab_str key[3];
    size_t n_key;
} connection;

typedef struct {
    const tab_table *table;
    tab_str notes;   /* a line each */
    tab_str reading; /* of a file: how it was read, a JSON object; "" */
} source_read;

/* By its id, or by the dataset that it feeds. NOT_FOUND; VALIDATION on id for a dataset that none feeds. */
tab_status connection_load(data_service *self, tab_call *call, const char *id, connection *ret,
                           tab_error *err) TAB_CHECKED;
/* Wipes its credentials. */
void connection_forget(const connection *c);
/* Runs the task in a process of its own. feed: of rows that are written; or NULL. */
tab_status connection_task(data_service *self, tab_call *call, Tabella__SourceTask *task,
                           const child_feed *feed, source_read *ret, tab_error *err) TAB_CHECKED;

#endif
