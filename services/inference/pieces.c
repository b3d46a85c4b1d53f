/* A large result goes to jobs while it is made into pieces, so that nobody but the pass's own process ever
 * holds the whole of it (decision 0501). */
#include "common/base/proto.h"
#include "common/bundle/bundle_pieces.h"
#include "proto/data.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/inference/inference.h"

enum { PIECE_MS = 60000 };
static const size_t SCRATCH = (size_t)3 << 30;

static tab_status put(inference *self, const tab_call *call, const Tabella__PieceOwner *owner,
                      const Tabella__Bundle *b, const tab_bundle_piece *p, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    Tabella__PutPieceRequest q = TABELLA__PUT_PIECE_REQUEST__INIT;
    const Tabella__Bundle *slice = a == NULL ? NULL : tab_bundle_slice(a, b, p->array, p->from, p->to);
    tab_str bytes = slice == NULL ? (tab_str){ NULL, 0 } : tab_proto_write(a, &slice->base);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    q.job_id = owner->job_id;
    q.attempt = owner->attempt;
    q.array = (char *)(uintptr_t)tab_paged_name(p->array);
    q.first = p->from;
    q.bundle = (ProtobufCBinaryData){ bytes.n, (uint8_t *)(uintptr_t)bytes.p };
    tab_answer answer = { 0 };
    tab_ask ask = { .service = "jobs",
                    .method = "PutPiece",
                    .in = &q.base,
                    .reply = &tabella__empty__descriptor,
                    .arena = a };
    tab_ask_inherit(&ask, call);
    ask.deadline = tab_within_ms(call->deadline, PIECE_MS);
    return tab_rpc_call(self->rpc, &ask, &answer, err);
}

tab_status pieces_put(inference *self, tab_call *call, const Tabella__PieceOwner *owner, Tabella__Bundle **b,
                      protobuf_c_boolean *ret_any, tab_error *err)
{
    if (owner == NULL || *b == NULL)
        return TAB_OK;
    for (tab_bundle_piece p = { 0 }; tab_bundle_next(*b, &p); *ret_any = true)
        TAB_TRY(put(self, call, owner, *b, &p, err));
    if (*ret_any && (*b = tab_bundle_head(call->arena, *b)) == NULL)
        return tab_no_memory(err);
    return TAB_OK;
}
