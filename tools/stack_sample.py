"""The sample, three tables of a shop: posted to a stack, and its answer in a few lines."""
import csv, http.client, json, re, time, urllib.parse

from stack_parts import *


def cell(text):
    """A CSV field as a JSON cell: empty is null, a plain number is a number, the rest is text."""
    if text == "":
        return None
    if re.fullmatch(r"-?(0|[1-9]\d{0,14})(\.\d+)?", text):
        return float(text) if "." in text else int(text)
    return text


def sample_body():
    tables = []
    for path in sorted((ROOT / "tests" / "samples" / "shop").glob("*.csv")):
        with open(path, newline="", encoding="utf-8") as f:
            rows = list(csv.reader(f))
        tables.append({"id": path.stem, "columns": rows[0], "rows": [[cell(x) for x in r] for r in rows[1:]]})
    return json.dumps({"tables": tables}, ensure_ascii=False)


def post_sample(values):
    body = sample_body()
    path = RUN / "sample-run.json"
    if not path.exists() or path.read_text() != body:
        write_file(path, body)
    u = urllib.parse.urlsplit(values["TABELLA_URL"])
    c = http.client.HTTPConnection(u.hostname, u.port, timeout=60)
    began = time.monotonic()
    c.request(
        "POST",
        "/v2/run",
        body.encode(),
        {"Authorization": f"Bearer {values['TABELLA_API_KEY']}", "Content-Type": "application/json"},
    )
    r = c.getresponse()
    answer = json.loads(r.read())
    if r.status != 200:
        die(f"POST /v2/run answered {r.status}: {answer.get('error', answer)}")
    return answer, time.monotonic() - began


def summary(b, seconds):
    def pct(x):
        return f"{100 * x:.0f}%"

    out = [f"POST /v2/run  {b['status']} in {1000 * seconds:.0f} ms  {b['run_id']}  {b['base']}", ""]
    for t in b["tables"]:
        top = t["sector"]["top1"]
        sector = f"{top['name']} ({pct(top['confidence'])})" if top else "no sector"
        out.append(f"  {t['id']}: {t['rows']} rows, {t['cols']} columns, {sector}")
        for c in t["column_profile"]:
            out.append(
                f"      {c['name'] or '(no name)':<18} {c['role']:<16} {pct(c['role_confidence']):>5}  "
                f"{c['type']:<12} missing {pct(c['missing_pct']):<5} {'PII' if c['pii'] else ''}".rstrip()
            )
    m = b.get("cross_table_map")
    if m:
        out.append("")
        for a in m["column_alignment"]:
            out.append(f"  {a['a']} = {a['b']}  ({pct(a['confidence'])})")
        out.append(
            f"  {m['summary']['entities_matched']} entities matched, "
            f"{b['unified_rows']['total']} unified rows"
        )
    out.append("")
    out.append(f"  {b['imputation']['total_filled']} missing cells filled")
    ts, p = b["target_selection"], b.get("prediction")
    out.append(f"  target: {ts['column'] or 'none'} ({ts['mode']}): {ts['reason']}")
    if p:
        first = p["results"][0] if p["results"] else {}
        shown = first.get("label", first.get("value", first.get("anomaly_score")))
        out.append(
            f"  {p['task_type']}: {p.get('results_total', p.get('total', len(p['results'])))} rows predicted"
            + (f"; row {first['row']}: {shown}" if first else "")
        )
    return "\n".join(out)
