"""Bugs that specs and seeds must find: of each the file, what stands there, what stands there with the bug,
and the specs that meet its interleaving first. SOWN are of kinds that systems like this one have had;
REVERTED take races back that were mended here."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    file: str
    right: str
    wrong: str
    specs: str = ""
    also: tuple = ()  # of (file, right, wrong): a second defence that has to fall with the first


SOWN = {
    "stale key cache": Bug(
        "services/keys/cache.c",
        "    tab_error why = { 0 };\n    if (!TAB_POINT_FAILS",
        "    tab_error why = { 0 };\n    if (t->version > 0)\n        return TAB_OK;\n"
        "    if (!TAB_POINT_FAILS",
        "key-revoked",
    ),
    "double outbox": Bug(
        "services/api/runs/run.c",
        '    return tab_outbox_put(tx, "api", id, "tabella.event.work.done", r->who.org, &e.base, err);',
        '    TAB_TRY(tab_outbox_put(tx, "api", id, "tabella.event.work.done", r->who.org, &e.base, err));\n'
        '    e.event_id = tab_arena_printf(r->arena, "%s/again", id);\n'
        "    id = e.event_id;\n"
        '    return tab_outbox_put(tx, "api", id, "tabella.event.work.done", r->who.org, &e.base, err);',
        "event-answer-lost",
    ),
    "lost hold": Bug(
        "services/metering/reserve.c",
        "tab_p_int(cost), tab_p_int(more), tab_p_int(limit)",
        "tab_p_int(cost), tab_p_int(more), tab_p_int(limit + cost)",
    ),
    "hold that is not counted": Bug(
        "services/metering/schema/0004-reserve.sql",
        "v_left := greatest(p_limit - used - held, 0);",
        "v_left := greatest(p_limit - used, 0);",
        "cap-held",
    ),
    "early acknowledgement": Bug(
        "services/api/runs/run.c",
        "    if (s == TAB_OK)\n        tab_relay_nudge(r->api->relay);\n",
        "    if (s == TAB_UNAVAILABLE || s == TAB_CANCELLED)\n        return TAB_OK;\n",
        "run-commit-unknown",
    ),
    "cursor off by one": Bug(
        "services/jobs/store_read.c",
        'WHERE org = $1 AND seq < $2 "\n                                                             "AND $3',
        'WHERE org = $1 AND seq <= $2 "\n'
        '                                                             "AND $3',
    ),
    "clock used for order": Bug(
        "services/keys/cache.c",
        '    snprintf(v, sizeof v, "%" PRId64, version);',
        "    version = tab_now_us();\n    epoch = (uint64_t)version;\n"
        '    snprintf(v, sizeof v, "%" PRId64, version);',
        "key-filled-late",
    ),
    "missing fsync": Bug(
        "services/api/serve/journal.c",
        "write_all(f->fd, buf, n) && fdatasync(f->fd) == 0;",
        "write_all(f->fd, buf, n);",
        "journal-power-lost",
    ),
    "cache after delete": Bug(
        "services/jobs/state.c",
        "    redisReply *reply = NULL;\n"
        '    tab_status s = tab_redis_command(self->redis, REDIS_MS, &reply, NULL, "SET',
        "    redisReply *reply = NULL;\n    if (e->id[0] != 0)\n        return true;\n"
        '    tab_status s = tab_redis_command(self->redis, REDIS_MS, &reply, NULL, "SET',
    ),
    "retry without its key": Bug(
        "services/api/idempotency.c",
        '"THEN excluded.seed ELSE i.seed END, "',
        '"THEN excluded.seed ELSE excluded.seed END, "',
        "submit-answer-lost",
    ),
    "unbounded sweep": Bug(
        "common/rpc/outbox.c",
        "30 days' ORDER BY at LIMIT $1 FOR UPDATE",
        "30 days' ORDER BY at LIMIT 1000000 + $1 FOR UPDATE",
        "sweep-bounded",
    ),
    "cancel after the end": Bug(
        "services/jobs/store.c",
        "AND status IN ('queued', 'running') AND staged IS NULL \"\n" '                     "RETURNING kind',
        "job-renew-late",
        "AND status <> 'cancelled' AND staged IS NULL \"\n" '                     "RETURNING kind',
    ),
}

REVERTED = {
    "a process that stands still keeps its locks": Bug(
        "common/pg/pg.c",
        "(long long)(tx->silence < left ? tx->silence : left));",
        "0LL);",
        "job-lease-lost",
    ),
    "a deleted endpoint is served where Redis lost its deletion": Bug(
        "services/api/serve/serve_cache.c",
        "    return now[0] != 0 && strcmp(now, since) == 0;",
        "    return now[0] != 0 || since != NULL;",
        "endpoint-deleted",
    ),
    "a deleted endpoint has no outcomes": Bug(
        "services/jobs/outcomes/outcomes.c",
        '    if (n == 0)\n        return tab_fail(err, TAB_NOT_FOUND, "id", "no such endpoint");\n'
        "    n = tab_rows_null(rows, 0, 0) ? 0 : n;",
        "    n = n == 0 || tab_rows_null(rows, 0, 0) ? 0 : n;",
        "outcomes-deleted",
    ),
    "a secret is replaced before the old one ends": Bug(
        "services/keys/keys.c",
        "        s = keys_cache_fence(&self->cache, &ended[i], err);",
        "        s = ended == NULL ? keys_cache_fence(&self->cache, &ended[i], err) : TAB_OK;",
        "key-rotated",
    ),
    "a failed rotation keeps the old secret out": Bug(
        "services/keys/keys.c",
        "    if (s != TAB_OK && n > 0)\n        lift(",
        "    if (s != TAB_OK && n > 1000)\n        lift(",
        "key-not-rotated",
    ),
    "a tombstone that was lost is not written again": Bug(
        "services/keys/keys.c",
        "    if (!own && tab_mono_ms() < self->left_due)\n        return;",
        "    if (own || tab_mono_ms() > 0)\n        return;",
        "key-rotated",
    ),
    "a sign-out that is asked again tells nobody": Bug(
        "services/keys/sessions.c",
        "        return keys_revoke(self, left, n, call->deadline, err);",
        "        return left == NULL ? keys_revoke(self, left, n, call->deadline, err) : TAB_OK;",
        "session-left-twice",
    ),
    "a late fill brings a revoked key back": Bug(
        "common/redis/limits.lua",
        "  if have and (have > version or",
        "  if have and have < 0 and (have > version or",
        "key-filled-late",
        (
            (
                "services/keys/cache.c",
                "t->version, NULL, (uint64_t)t->version, KEYS_CACHE_TOMBSTONE_S,",
                "t->version, NULL, 0, KEYS_CACHE_TOMBSTONE_S,",
            ),
        ),
    ),
    "what an answer has named is not waited for": Bug(
        "services/api/read_your_writes.c",
        "    if (s != TAB_NOT_FOUND)\n",
        "    if (s != TAB_NOT_FOUND || service != NULL)\n",
        "named-late",
    ),
    "bills of processes that died are not found": Bug(
        "services/api/serve/bills_settle.c",
        "    size_t n = FOUND_MOST;\n    while (n == FOUND_MOST) {",
        "    size_t n = FOUND_MOST;\n    while (a == NULL && n == FOUND_MOST) {",
        "serve-killed-before-bill",
    ),
    "journals of processes that died are not read": Bug(
        "services/api/serve/bills_settle.c",
        "    journal_adopt(adopt, a);",
        "    if (a == NULL)\n        journal_adopt(adopt, a);",
        "journal-power-lost",
    ),
    "an end after another's end": Bug(
        "services/jobs/store.c",
        "phase = '' \"\n"
        "                     \"WHERE org = $1 AND job_id = $2 AND attempt = $3 AND status = 'running' \"\n"
        '                     "RETURNING 1',
        'phase = \'\' "\n                     "WHERE org = $1 AND job_id = $2 AND attempt = $3 "\n'
        '                     "RETURNING 1',
        "job-cancelled-at-work",
    ),
    "an answer under a key that another has taken over": Bug(
        "services/api/idempotency.c",
        '"AND owner = $7 AND attempt = $8",',
        "\"AND ($7 <> '' OR $8 > 0)\",",
        "run-thawed",
    ),
    "a failure forgets what its key has begun": Bug(
        "services/api/idempotency.c",
        "    bool refused = why != TAB_INTERNAL && why != TAB_UNAVAILABLE && why != TAB_CANCELLED;",
        "    bool refused = why != TAB_INTERNAL;",
        "submit-answer-lost",
    ),
    "who waits for a key is not told of its end": Bug(
        "services/api/idempotency_wait.c",
        "    return r->claimed ? request_handle(r, err) : join(r, err);",
        '    return r->claimed ? request_handle(r, err) : tab_fail(err, TAB_UNAVAILABLE, "", "wait");',
        "run-joined",
    ),
    "a cancelled job keeps its hold": Bug(
        "services/metering/reserve.c",
        '    if (strcmp(e->status, "done") == 0) /*',
        '    if (strcmp(e->status, "failed") != 0) /*',
        "cap-cancelled",
    ),
    "a run that becomes a job holds twice": Bug(
        "services/api/runs/run.c",
        'allowance_reserve(r, &x->cost, id, x->reserved == NULL ? "" : x->reserved,',
        'allowance_reserve(r, &x->cost, id, "",',
        "cap-queued",
    ),
    "a lease is renewed for a job that has ended": Bug(
        "services/jobs/store.c",
        'AND attempt = $3 AND status = \'running\' "\n            "RETURNING 1",',
        'AND attempt = $3 "\n            "RETURNING 1",',
        "job-renew-late",
    ),
    "connections of before a silence are used again": Bug(
        "common/pg/pg_pool.c",
        "if (c->of == atomic_load(pg->losses) && !hung_up(c->pg)) {",
        "if (!hung_up(c->pg)) {",
    ),
    "a clock set back refuses for long": Bug(
        "common/redis/limits.lua",
        "  elseif tat > now + 2 * MINUTE then",
        "  elseif tat > now + 2000000 * MINUTE then",
    ),
}
