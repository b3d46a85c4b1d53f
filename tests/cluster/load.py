"""The load on a cluster, and what is owed for it. A run is asked for by its name until it is answered; a
serve call, which has no name, is asked once: one whose answer was lost may be billed or not."""
import http.client, json, threading, time, uuid

ROWS, PINNED, REQUEST, COLUMNS = 20, 40, 2, 3
PAUSE_S = 0.05  # between the calls of a caller: the load is there to be answered, not to fill the machine
READS = ["/v2/jobs", "/v2/usage", "/v2/endpoints", "/v2/data", "/v2/models"]


def table(rows):
    made = [[i, i * i % 17, "even" if i % 2 == 0 else "odd"] for i in range(rows)]
    return {"id": "t", "columns": ["id", "x", "kind"], "rows": made}


class Client:
    """Calls of one organization: (status, JSON); status 0 where the connection failed."""

    def __init__(self, host, key):
        self.host, self.key = host, key

    def __call__(self, method, path, body=None, name=None, timeout=90):
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        headers |= {"Idempotency-Key": name} if name else {}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        c = http.client.HTTPConnection(self.host, 80, timeout=timeout)
        try:
            c.request(method, path, None if body is None else json.dumps(body), headers)
            answer = c.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        except (OSError, http.client.HTTPException, ValueError) as e:
            return 0, f"{type(e).__name__}: {e}"
        finally:
            c.close()

    def done(self, job, seconds=300):
        end, said = time.monotonic() + seconds, None
        while time.monotonic() < end:
            status, said = self("GET", f"/v2/jobs/{job}")
            if status == 200 and said["status"] not in ("queued", "running"):
                break
            time.sleep(0.5)
        return said


class Load:
    """Two callers of runs, two of serve calls, one that reads; from the first moment until `end`."""

    def __init__(self, client, endpoint):
        self.client, self.endpoint = client, endpoint
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.calls, self.failed = 0, []
        self.runs, self.serves, self.lost, self.unanswered = 0, 0, 0, []
        what = [self.run, self.run, self.serve, self.serve, self.read]
        self.threads = [threading.Thread(target=self.work, args=(f,), daemon=True) for f in what]
        for t in self.threads:
            t.start()

    def work(self, what):
        n = 0
        while not self.stop.is_set():
            what(n)
            n += 1
            time.sleep(PAUSE_S)

    def once(self, *call, **how):
        """One try, and the word on it; None: it failed."""
        at = time.strftime("%T")
        status, said = self.client(*call, **how)
        with self.lock:
            self.calls += 1
            if status not in (200, 202):
                self.failed.append((at, *call[:2], status, str(said)[:200]))
        return said if status in (200, 202) else None

    def run(self, _):
        name, end = uuid.uuid4().hex, time.monotonic() + 120
        body = {"tables": [table(ROWS)], "target": {"mode": "none"}}
        while self.once("POST", "/v2/run", body, name=name) is None:
            if time.monotonic() > end:
                self.unanswered.append(name)
                return
            time.sleep(0.2)
        with self.lock:
            self.runs += 1

    def serve(self, _):
        body = {"tables": [table(REQUEST)]}
        good = self.once("POST", f"/v2/serve/{self.endpoint}", body) is not None
        with self.lock:
            self.serves += good
            self.lost += not good

    def read(self, n):
        self.once("GET", READS[n % len(READS)])

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join(130)
        return not any(t.is_alive() for t in self.threads)


class Phase:
    """What a load saw while something was done to the cluster."""

    def __init__(self, load):
        self.load, self.began = load, time.monotonic()
        self.calls, self.failed = load.calls, len(load.failed)

    def end(self):
        time.sleep(2)  # what comes late belongs to it
        load = self.load
        with load.lock:
            self.calls, self.wrong = load.calls - self.calls, load.failed[self.failed :]
        self.seconds = time.monotonic() - self.began
        return self

    def __str__(self):
        return f"{self.calls} calls in {self.seconds:.0f} s, {len(self.wrong)} failed"


def bill_of(load, client, before, seconds=180):
    """({op: cells} wanted at least and at most, had): asked until all that is owed is there and stays."""
    least = {
        "run": load.runs * ROWS * COLUMNS,
        "serve": load.serves * REQUEST * COLUMNS,
        "cached": load.serves * PINNED * COLUMNS,
    }
    most = dict(least)
    most["serve"] += load.lost * REQUEST * COLUMNS
    most["cached"] += load.lost * PINNED * COLUMNS
    end, had, same = time.monotonic() + seconds, {}, 0
    while time.monotonic() < end and same < 5:
        status, said = client("GET", "/v2/usage")
        now = {op: said["by_op_raw"].get(op, 0) - before.get(op, 0) for op in least} if status == 200 else {}
        whole = status == 200 and all(now[op] >= least[op] for op in least)
        same = same + 1 if whole and now == had else 0
        had = now or had
        time.sleep(1)
    return least, most, had
