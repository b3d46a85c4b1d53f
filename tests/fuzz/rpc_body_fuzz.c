/* Whatever the bytes behind a subject of ours: each service's request, each event and the tables behind
 * them are read or refused within the call's arena; what was read, written and read again is the same. The
 * first byte chooses the message, the next two say where it ends and tables begin (65535: there are none). */
#include <stdlib.h>

#include "common/base/proto.h"
#include "common/rpc/rpc_internal.h"
#include "proto/data.pb-c.h"
#include "proto/events.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "proto/keys.pb-c.h"
#include "proto/metering.pb-c.h"
#include "proto/reports.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* clang-format off */
#define MESSAGES \
    X(ingest_request) X(read_request) X(resolve_request) X(acquire_request) X(release_request) \
    X(connect_request) X(sync_request) X(diff_request) X(data_request) X(list_data_request) \
    X(drop_request) X(work_done) X(job_ended) X(usage_alert) X(quality_alert) X(data_changed) \
    X(audit_event) X(run_request) \
    X(progress) X(evaluate_request) X(serve_request) X(models_request) X(set_base_request) \
    X(submit_request) X(get_job_request) X(list_jobs_request) X(cancel_job_request) \
    X(output_request) X(endpoint) X(create_endpoint_request) X(get_endpoint_request) \
    X(list_endpoints_request) X(delete_endpoint_request) X(refresh_request) X(upgrade_request) \
    X(edit_endpoint_request) X(endpoint_logs_request) X(staged) X(authenticate_request) \
    X(list_keys_request) X(create_key_request) X(rotate_key_request) X(delete_key_request) \
    X(list_audit_request) X(create_org_request) X(set_org_request) X(get_org_request) X(org) \
    X(reserve_request) X(charge_request) X(usage_request) X(mint_request) X(get_report_request) \
    X(list_reports_request) X(star_request)
/* clang-format on */

static const ProtobufCMessageDescriptor *const types[] = {
#define X(name) &tabella__##name##__descriptor,
    MESSAGES
#undef X
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    const ProtobufCMessageDescriptor *type = types[data[0] % (sizeof types / sizeof *types)];
    int64_t packed = data[1] | data[2] << 8;
    TAB_AUTO(tab_arena) *a = tab_arena_new(256 * size + (1 << 16)); /* small: running out is a case, too */
    const void *msg = NULL;
    const tab_table *const *tables;
    size_t n;
    char *body = tab_arena_alloc(a, size, 8); /* where the tables lie aligned, as in the RPC */
    if (body == NULL)
        return 0;
    memcpy(body, data + 3, size - 3);
    tab_str bytes = { body, size - 3 };
    if (rpc_body_read(a, bytes, packed == 65535 ? -1 : packed, type, &msg, &tables, &n, NULL) != TAB_OK)
        return 0;
    TAB_AUTO(tab_arena) *b = tab_arena_new((size_t)64 << 20);
    tab_str once = tab_proto_write(b, msg);
    const void *again = once.p == NULL ? NULL : tab_proto_read(b, type, once);
    /* NULL: an unknown field that is carried along may have a number that protobuf-c refuses the second
     * time */
    if (again != NULL && !tab_str_eq(once, tab_proto_write(b, again)))
        abort();
    return 0;
}
