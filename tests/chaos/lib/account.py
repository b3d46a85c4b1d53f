"""After the whole run: the ledger and the load generator agree to the cell. The generator counts what it was
answered; of a call whose answer was lost it asks the service what became of it, as a customer would."""
import time

from invariants import jobs_of
from ledger import COLS, PINNED, REQUEST, ROWS

WHOLE = {
    "run": ROWS * COLS,
    "batch": ROWS * COLS,
    "create": PINNED * COLS,
    "refresh": PINNED * COLS,
    "upgrade": PINNED * COLS,
}
SETTLE_S = 35


def of(world, org):
    """(in the ledger, answered, of lost answers), in cells."""
    ledger = int(world.sql("SELECT coalesce(sum(cells), 0) FROM metering.line WHERE org = %s", org.org)[0][0])
    done = {j: kind for j, (kind, status, _, _) in jobs_of(world, org).items() if status == "done"}
    saw = {j for _, j in org.runs} | {j for j, status in org.seen.items() if status == "done"}
    cells = {j: org.odd_cells.get(j, WHOLE[kind]) for j, kind in done.items()}
    served = sum(1 for e in org.endpoints for s in e.serves if s[2] == 200)
    calls = int(world.sql("SELECT coalesce(sum(calls), 0) FROM jobs.endpoint WHERE org = %s", org.org)[0][0])
    each = (REQUEST + PINNED) * COLS
    answered = sum(n for j, n in cells.items() if j in saw) + served * each
    lost = sum(n for j, n in cells.items() if j not in saw) + (calls - served) * each
    return ledger, answered, lost


def whole(world, orgs):
    """The sums over all organizations; asked again while events may still be on their way."""
    end = time.monotonic() + SETTLE_S
    while True:
        each = [of(world, o) for o in orgs]
        ledger, answered, lost = (sum(x[i] for x in each) for i in range(3))
        table = int(world.sql("SELECT coalesce(sum(cells), 0) FROM metering.line")[0][0])
        agree = all(l == a + x for l, a, x in each) and table == ledger
        if agree or time.monotonic() > end:
            break
        time.sleep(0.5)
    return {
        "ledger": table,
        "answered": answered,
        "lost": lost,
        "calls": sum(len(o.calls) for o in orgs),
        "organizations": len(orgs),
        "agree": agree,
        "differ": [(o.name, o.org, x) for o, x in zip(orgs, each) if x[0] != x[1] + x[2]],
    }
