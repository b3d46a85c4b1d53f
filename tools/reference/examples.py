"""An example of each route for the reference (page.py), in an order in which all of them succeed one after
another: tests/suite/reference runs them so, once with curl and once in Python.

`$dataset` and its like are variables of the shell, `dataset` and its like of Python: what earlier answers
have named."""

from typing import Any, NamedTuple, Optional


class Example(NamedTuple):
    python: str
    body: Any = None  # of a JSON body
    at: str = ""  # id and sub of the path: "$dataset", "churn"
    sub: str = ""
    query: str = ""
    curl: Optional[str] = None  # the whole line, where it is not made of the others


CUSTOMERS = {
    "id": "customers",
    "columns": ["name", "city", "plan", "visits"],
    "rows": [
        ["Ann Lee", "Bonn", "pro", 31],
        ["Bob Fox", "Ulm", "free", 4],
        ["Cid Orr", "Bonn", "pro", None],
        ["Dora Hart", "Kiel", "free", 6],
    ],
}
ASKED = {
    "id": "customers",
    "columns": "customer email phone city signed_up seats tickets satisfaction cancelled".split(),
    "rows": [["Eve Stone", "eve@example.com", None, "Porto", "2025-06-01", 12, 3, 5, None]],
}
RUN = """\
customers = [
    {"name": "Ann Lee", "city": "Bonn", "plan": "pro", "visits": 31},
    {"name": "Bob Fox", "city": "Ulm", "plan": "free", "visits": 4},
    {"name": "Cid Orr", "city": "Bonn", "plan": "pro", "visits": None},
    {"name": "Dora Hart", "city": "Kiel", "plan": "free", "visits": 6},
]
bundle = client.run(customers, name="customers")
bundle.raw["summary"]"""
SERVE = """\
asked = {
    "columns": "customer email phone city signed_up seats tickets satisfaction cancelled".split(),
    "rows": [["Eve Stone", "eve@example.com", None, "Porto", "2025-06-01", 12, 3, 5, None]],
}
answer = client.endpoints.serve("churn", asked, receipts=True)
answer.predictions"""
SIGN_IN = """\
import http.cookiejar, json, os, urllib.request

browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
url = os.environ["TABELLA_URL"] + "/platform/v1/session"
said = json.dumps({"key": os.environ["TABELLA_API_KEY"]}).encode()
asked = urllib.request.Request(url, said, {"Content-Type": "application/json"})
session = json.load(browser.open(asked))"""
BEGIN = """\
import http.cookiejar, json, os, urllib.request

person = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
signin = os.environ["TABELLA_URL"] + "/platform/v1/signin"


def post(url, **body):
    headers = {"Content-Type": "application/json"}
    return json.load(person.open(urllib.request.Request(url, json.dumps(body).encode(), headers)))


begun = post(signin, organization=organization, provider=provider)
begun["url"]"""
SIGN_OUT = """\
csrf = {"X-CSRF-Token": session["csrf_token"]}
browser.open(urllib.request.Request(url, headers=csrf, method="DELETE")).status"""
AGENT = """\
import json, os, urllib.request

said = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
headers = {"Authorization": "Bearer " + os.environ["TABELLA_API_KEY"], "Content-Type": "application/json"}
asked = urllib.request.Request(os.environ["TABELLA_URL"] + "/mcp", json.dumps(said).encode(), headers)
[tool["name"] for tool in json.load(urllib.request.urlopen(asked))["result"]["tools"]]"""
SESSION = '"$TABELLA_URL/platform/v1/session"'

EXAMPLES = {
    "GET_MODELS": Example("client.models.list()"),
    "POST_RUN": Example(RUN, {"tables": [CUSTOMERS]}),
    "GET_JOBS": Example('client.jobs.list(status="done")', query="status=done"),
    "GET_JOB": Example("client.jobs.retrieve(job).status", at="$job"),
    "GET_RESULT_PART": Example(
        'client.jobs.download(job, "filled", "filled.csv")', at="$job", sub="filled", query="format=csv"
    ),
    "GET_RESULT_FILLED": Example(
        'client.jobs.download(job, "filled", "filled.parquet", table="customers")',
        at="$job",
        sub="customers",
        query="format=csv",
    ),
    "POST_JOB_CANCEL": Example("client.jobs.cancel(waiting).status", at="$waiting"),
    "DELETE_JOB": Example("client.jobs.delete(waiting)", at="$waiting"),
    "POST_DATA_UPLOAD": Example(
        'dataset = client.data.upload("customers.csv").dataset.id',
        curl='curl -s "$TABELLA_URL/platform/v1/data/upload" -H "Authorization: Bearer $TABELLA_API_KEY" \\\n'
        "    -F file=@customers.csv",
    ),
    "POST_UPLOADS": Example(
        'upload = client.uploads.begin("customers.csv", name="in-parts").id',
        {"file_name": "customers.csv", "name": "in-parts"},
    ),
    "PUT_UPLOAD": Example(
        'content = open("customers.csv", "rb").read()\nclient.uploads.send(upload, content, offset=0).offset',
        curl='curl -s -X PUT "$TABELLA_URL/platform/v1/uploads/$upload?offset=0" \\\n'
        '    -H "Authorization: Bearer $TABELLA_API_KEY" -H "Content-Type: application/octet-stream" \\\n'
        "    --data-binary @customers.csv",
    ),
    "GET_UPLOAD": Example("client.uploads.retrieve(upload).offset", at="$upload"),
    "POST_UPLOAD_COMPLETE": Example("client.uploads.complete(upload).dataset.rows", at="$upload"),
    "DELETE_UPLOAD": Example("client.uploads.delete(other)", at="$other"),
    "POST_DATA_CONNECT": Example(
        "connection = client.data.connect(\n"
        '    "postgres://db.example.com/shop/public/orders",\n'
        '    credentials={"user": "reader", "password": "secret", "tls": "verify-full"},\n'
        ").connection.id",
        {
            "source": "postgres://db.example.com/shop/public/orders",
            "credentials": {"user": "reader", "password": "secret", "tls": "verify-full"},
        },
    ),
    "POST_DATA_SYNC": Example("client.data.sync(connection)", at="$connection"),
    "GET_DATA_LIST": Example("[d.name for d in client.data.list(limit=20)]", query="limit=20"),
    "GET_DATA": Example("client.data.retrieve(dataset).reading", at="$dataset"),
    "GET_DATA_STORED": Example(
        'client.data.download(dataset, "dataset.tabella")',
        curl='curl -s "$TABELLA_URL/platform/v1/data/$dataset/stored" -o dataset.tabella \\\n'
        '    -H "Authorization: Bearer $TABELLA_API_KEY"',
    ),
    "POST_EXPORTS": Example("archive = client.organization.export().job_id"),
    "GET_EXPORT": Example(
        'client.organization.archive(archive, "organization.tar")',
        curl='curl -s "$TABELLA_URL/platform/v1/exports/$archive" -o organization.tar \\\n'
        '    -H "Authorization: Bearer $TABELLA_API_KEY"',
    ),
    "GET_DATA_PROFILE": Example("client.data.profile(dataset).columns", at="$dataset"),
    "GET_DATA_SNAPSHOTS": Example("list(client.data.snapshots(dataset))", at="$dataset"),
    "GET_DATA_DIFF": Example("client.data.diff(orders)", at="$orders"),
    "POST_DATA_PIN": Example("client.data.pin(dataset)", at="$dataset"),
    "POST_DATA_UNPIN": Example("client.data.unpin(dataset)", at="$dataset"),
    "POST_DATA_GENERATE": Example(
        'client.data.generate("retail", 50).dataset', {"sector": "retail", "rows": 50}
    ),
    "POST_ENDPOINTS": Example(
        'endpoint = client.endpoints.create("churn", data=[dataset], target="cancelled")',
        {"name": "churn", "data": ["$dataset"], "target": {"column": "cancelled"}},
    ),
    "GET_ENDPOINTS": Example("[e.endpoint for e in client.endpoints.list()]"),
    "GET_ENDPOINT": Example('client.endpoints.retrieve("churn").held_out', at="churn"),
    "GET_ENDPOINT_OPENAPI": Example('client.endpoints.openapi("churn")["paths"]', at="churn"),
    "POST_SERVE": Example(SERVE, {"tables": [ASKED], "options": {"receipts": True}}, at="churn"),
    "POST_OUTCOMES": Example(
        'client.endpoints.report_outcomes("churn", [{"receipt": receipt, "outcome": "no"}])',
        {"rows": [{"receipt": "$receipt", "outcome": "no"}]},
        at="churn",
    ),
    "POST_OUTCOMES_FORGET": Example(
        'client.endpoints.forget_outcomes("churn", [receipt])["forgotten"]',
        {"receipts": ["$receipt"]},
        at="churn",
    ),
    "GET_OUTCOMES": Example('client.endpoints.outcomes("churn")', at="churn"),
    "POST_PROMPTS": Example(
        'prompt = client.prompts.create("churn", "tone", "Answer in one sentence.").system_prompts[0]["id"]',
        {"name": "tone", "body": "Answer in one sentence."},
        at="churn",
    ),
    "PATCH_PROMPT": Example(
        'client.prompts.update("churn", prompt, active=False)', {"active": False}, at="churn", sub="$prompt"
    ),
    "DELETE_PROMPT": Example('client.prompts.delete("churn", prompt)', at="churn", sub="$prompt"),
    "PATCH_ENDPOINT": Example(
        'client.endpoints.update("churn", confidence_threshold=0.6)',
        {"options": {"confidence_threshold": 0.6}},
        at="churn",
    ),
    "POST_ENDPOINT_REFRESH": Example('client.endpoints.refresh("churn").status', {}, at="churn"),
    "POST_ENDPOINT_UPGRADE": Example(
        'client.endpoints.upgrade("churn", "base-1").status', {"base": "base-1"}, at="churn"
    ),
    "GET_ENDPOINT_LOGS": Example('[entry.event for entry in client.endpoints.logs("churn")]', at="churn"),
    "GET_REPORTS": Example("[r.name for r in client.reports.list()]"),
    "GET_REPORT": Example("client.reports.retrieve(report).metrics", at="$report"),
    "POST_REPORT_STAR": Example("client.reports.star(report)", at="$report"),
    "POST_REPORT_UNSTAR": Example("client.reports.unstar(report)", at="$report"),
    "GET_USAGE": Example("client.usage.retrieve().total_cells"),
    "GET_KEYS": Example("[k.name for k in client.keys.list()]"),
    "POST_KEYS": Example(
        'made = client.keys.create("reports", ["read"])', {"name": "reports", "scopes": ["read"]}
    ),
    "POST_KEY_ROTATE": Example("client.keys.rotate(key).id", at="$key"),
    "PATCH_KEY": Example(
        'client.keys.update(key, networks=["203.0.113.0/24"]).networks',
        {"networks": ["203.0.113.0/24"]},
        at="$key",
    ),
    "DELETE_KEY": Example("client.keys.delete(key)", at="$key"),
    "POST_WEBHOOKS": Example(
        'client.webhooks.create("jobs", "https://hooks.example.com/tabella").secret',
        {"name": "jobs", "url": "https://hooks.example.com/tabella"},
    ),
    "GET_WEBHOOKS": Example("[w.url for w in client.webhooks.list()]"),
    "PATCH_WEBHOOK": Example(
        'client.webhooks.update(webhook, name="all jobs").name', {"name": "all jobs"}, at="$webhook"
    ),
    "POST_WEBHOOK_ROTATE": Example("client.webhooks.rotate(webhook).secret", at="$webhook"),
    "POST_WEBHOOK_TEST": Example("client.webhooks.test(webhook).id", at="$webhook"),
    "GET_DELIVERIES": Example("list(client.webhooks.deliveries(webhook))", at="$webhook"),
    "POST_DELIVERY_REPLAY": Example(
        "client.webhooks.replay(webhook, delivery).status", at="$webhook", sub="$delivery"
    ),
    "DELETE_WEBHOOK": Example("client.webhooks.delete(webhook)", at="$webhook"),
    "GET_ORGANIZATION": Example("client.organization.retrieve().plan"),
    "PUT_ORGANIZATION": Example(
        'client.organization.update(emails=["data@example.com"])', {"emails": ["data@example.com"]}
    ),
    "GET_SERVICE_LEVEL": Example("client.usage.service_level(months=1).months", query="months=1"),
    "GET_NOTIFICATIONS": Example("list(client.notifications.list(unread=True))", query="unread=true"),
    "POST_NOTIFICATION_READ": Example("client.notifications.read(notification)", at="$notification"),
    "GET_AUDIT": Example('list(client.audit.list(event="key.create"))', query="event=key.create"),
    "POST_PROVIDERS": Example(
        'client.providers.create("Work", "https://login.example.com", "console", client_secret="secret",\n'
        '                        roles={"data": "builder"}).id',
        {
            "name": "Work",
            "issuer": "https://login.example.com",
            "client_id": "console",
            "client_secret": "secret",
            "roles": {"data": "builder"},
        },
    ),
    "GET_PROVIDERS": Example("[p.issuer for p in client.providers.list()]"),
    "PATCH_PROVIDER": Example(
        'client.providers.update(provider, roles={"data": "builder", "owners": "admin"}).roles',
        {"roles": {"data": "builder", "owners": "admin"}},
        at="$provider",
    ),
    "POST_SIGNIN": Example(
        BEGIN,
        curl="curl -s -c person \"$TABELLA_URL/platform/v1/signin\" -H 'Content-Type: application/json' \\\n"
        '    -d "{\\"organization\\": \\"$organization\\", \\"provider\\": \\"$provider\\"}" >signin.json',
    ),
    "GET_SIGNIN": Example(
        'json.load(urllib.request.urlopen(f"{signin}?organization={organization}"))["providers"]',
        curl='curl -s "$TABELLA_URL/platform/v1/signin?organization=$organization"',
    ),
    "POST_SIGNIN_COMPLETE": Example(
        'post(signin + "/complete", state=state, code=code)["person"]["role"]',
        curl='curl -s -b person -c person "$TABELLA_URL/platform/v1/signin/complete" \\\n'
        '    -H \'Content-Type: application/json\' -d "{\\"state\\": \\"$state\\", \\"code\\": \\"$code\\"}"',
    ),
    "GET_PEOPLE": Example("[(p.name, p.role) for p in client.people.list()]"),
    "PATCH_PERSON": Example(
        'client.people.update(person_id, role="viewer").role', {"role": "viewer"}, at="$person_id"
    ),
    "GET_SESSIONS": Example("[(s.name, s.address) for s in client.sessions.list()]"),
    "DELETE_SESSIONS": Example("client.sessions.end(session_id)", at="$session_id"),
    "DELETE_PROVIDER": Example("client.providers.delete(provider)", at="$provider"),
    "POST_SESSION": Example(
        SIGN_IN,
        curl=f"curl -s -c jar {SESSION} -H 'Content-Type: application/json' \\\n"
        '    -d "{\\"key\\": \\"$TABELLA_API_KEY\\"}" >session.json',
    ),
    "GET_SESSION": Example('json.load(browser.open(url))["organization"]', curl=f"curl -s -b jar {SESSION}"),
    "DELETE_SESSION": Example(
        SIGN_OUT,
        curl=f"curl -s -b jar -X DELETE {SESSION} \\\n"
        '    -H "X-CSRF-Token: $(jq -r .csrf_token session.json)"',
    ),
    "POST_MCP": Example(AGENT, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    "GET_OPENAPI": Example('len(client.openapi()["paths"])'),
    "DELETE_ENDPOINT": Example('client.endpoints.delete("churn")', at="churn"),
    "DELETE_DATA": Example("client.data.delete(dataset)", at="$dataset"),
}
