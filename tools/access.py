#!/usr/bin/env python3
"""Who may do what at NATS and Redis, and who gets which secret: the one table (decision 0248).

    tools/access.py nats     the users of NATS: deploy/nats-users.conf, passwords from $NATS_PASSWORD_API and
                             so on
    tools/access.py redis    the users of Redis, the same way: deploy/redis-users.acl
    tools/access.py check    whether these files, and the chart's copies, are what this prints
    tools/access.py write    writes them

The stack behind `make up` takes the same rows from here, with passwords of its own.
"""
import hashlib, pathlib, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Whom a service calls, with calls or with events (common/rpc/rpc.h); itself it may always call.
CALLS = {
    "api": ["data-connector", "inference", "jobs", "keys", "metering", "reports"],
    "data-connector": ["jobs", "keys"],
    "inference": ["data-connector", "jobs"],
    "jobs": ["data-connector", "inference", "keys", "metering", "reports"],
    "keys": [],
    "metering": ["keys"],
    "reports": [],
    "nats-check": [],
    "operator": ["data-connector", "inference", "jobs", "keys", "metering"],  # `tabella admin`
}

# What else a user's processes serve, for that user alone.
ALSO = {"inference": ["inference-alone"]}

# Plain subjects beside calls: (publish, subscribe).
SUBJECTS = {
    "api": ([], ["tabella.progress.*"]),
    "inference": (
        ["tabella.progress.*", "tabella.inference.alive"],
        ["tabella.cancel.*", "tabella.inference.alive"],
    ),
    "jobs": (["tabella.cancel.*", "tabella.jobs.wake"], ["tabella.progress.*", "tabella.jobs.wake"]),
}

# What common/redis/limits.lua and services/jobs/state.c do in the name of each. A function's own commands are
# checked.
REDIS = {
    "gateway": "%R~tab:g:* %R~tab:v:* %R~tab:s:* ~tab:r:* ~tab:e:* ~tab:use "
    "+mget +get +set +hmget +hset +hincrby +expire +time +fcall|tab_settle "
    "+fcall|tab_level (+fcall|tab_gate ~tab:g:*)",
    "keys": "~tab:g:* ~tab:v:* ~tab:use* +get +set +lindex +exists +rename +rpush +hgetall +lrem +del +ping "
    "+function|load +fcall|tab_key_put +fcall|tab_use_take +fcall|tab_use_taken",
    "api": "~tab:c:* ~tab:o:* ~tab:i:* %R~tab:s:* +get +set +del +hgetall +hset +hdel +pexpire +time +ping "
    "+fcall|tab_cells "
    "+fcall|tab_calls +fcall|tab_once +fcall|tab_once_done +fcall|tab_once_failed",
    "jobs": "~tab:s:* +get +set +del +eval +ping",
}

SERVICES = ["api", "data-connector", "inference", "jobs", "keys", "metering", "reports"]

# The secrets of each process beside its users above; `migrate` and the servers have none of these.
SECRETS = {
    "TAB_POSTGRES": [*SERVICES, "migrate", "retain"],
    "TAB_ORG_KEY": [*SERVICES, "migrate"],
    "TAB_RUN_KEY": ["api", "data-connector", "jobs"],
    "TAB_GATEWAY_SECRET": ["api"],
    "TAB_GRANT_SECRET": ["keys"],
    "TAB_KEK": ["data-connector", "keys"],
    "TAB_STATE_KEK": ["inference"],
    "TAB_PKCS11_PIN": ["data-connector", "inference", "keys"],
    "TAB_CHECKPOINT_KEY": ["retain"],  # where it cuts
    "TAB_NATS_PASSWORD": list(CALLS),
    "TAB_REDIS_PASSWORD": ["api", "jobs", "keys"],
}


# Given where an operator asks for what it opens, and nowhere else: neither the stack nor the compose file do.
ASKED_FOR = {"TAB_PKCS11_PIN"}


def secrets_of(process):
    return {name for name, who in SECRETS.items() if process in who}


def variable(server, user):
    return f"{server}_PASSWORD_{user.replace('-', '_').upper()}"


def nats_rights(user):
    """The subjects that a user may publish to and subscribe to."""
    callees = [user, *CALLS[user]]
    callers = [u for u, calls in CALLS.items() if user in calls]
    publish, subscribe = SUBJECTS.get(user, ([], []))

    def subjects(services):
        return [
            s
            for c in services
            for s in (f"tabella.v1.{c}.*", f"tabella.v1.{c}.at.*.*", f"tabella.v1.{c}-gone")
        ]

    also = ALSO.get(user, [])
    # answers and chunks go both ways between two that talk
    inboxes = [f"_INBOX.{u}.>" for u in dict.fromkeys([*callees, *callers])]
    own = [*subjects([user, *also]), f"_INBOX.{user}.>"]
    own.append("tabella.here.*")  # who lives, of all services; each speaks for itself alone
    here = [f"tabella.here.{s}" for s in (user, *also)]
    return sorted([*subjects([*callees, *also]), *inboxes, *publish, *here]), sorted([*own, *subscribe])


def nats_users(password, tests=False):
    """The `authorization` block; password gives the text for a user's password. tests: a user of that name
    may do all, and every service may answer to _INBOX.test."""
    out = ["authorization {", "  users = ["]
    if tests:
        out.append(f'    {{ user: "tests", password: {password("tests")} }}')
    for user in CALLS:
        publish, subscribe = nats_rights(user)
        publish += ["_INBOX.test.>"] if tests else []
        publish, subscribe = (", ".join(f'"{s}"' for s in side) for side in (publish, subscribe))
        out += [
            f'    {{ user: "{user}", password: {password(user)}',
            f"      permissions: {{ publish: [{publish}]",
            f"                     subscribe: [{subscribe}] }} }}",
        ]
    return "\n".join([*out, "  ]", "}", ""])


def redis_users(password, tests=False):
    """Lines of an ACL file, or of redis.conf; password gives a rule: >TEXT or #SHA256. tests: as above."""
    lines = ["user default off"]
    lines += [f"user tests on {password('tests')} ~* &* +@all"] if tests else []
    lines += [f"user {u} on {password(u)} resetchannels {rules}" for u, rules in REDIS.items()]
    return "\n".join([*lines, ""])


def hashed(text):
    """A password as Redis takes it without knowing it."""
    return "#" + hashlib.sha256(text.encode()).hexdigest()


def files():
    head = "# Made by tools/access.py from its table; do not edit.\n"
    return {
        ROOT / "deploy" / "nats-users.conf": head + nats_users(lambda u: "$" + variable("NATS", u)),
        ROOT / "charts" / "tabella" / "files" / "nats-users.conf": head
        + nats_users(lambda u: "$" + variable("NATS", u)),
        ROOT / "deploy" / "redis-users.acl": redis_users(lambda u: f">@{variable('REDIS', u)}@"),
        ROOT
        / "charts"
        / "tabella"
        / "files"
        / "redis-users.acl": redis_users(lambda u: f">@{variable('REDIS', u)}@"),
        # a chart reads nothing outside of its folder
        **{
            ROOT / "charts" / "tabella" / "files" / name: (ROOT / "deploy" / name).read_text()
            for name in ("postgres-init.sh", "postgres-roles.sql", "redis-start")
        },
    }


def main():
    word = sys.argv[1] if len(sys.argv) == 2 else ""
    if word == "nats":
        print(files()[ROOT / "deploy" / "nats-users.conf"], end="")
    elif word == "redis":
        print(files()[ROOT / "deploy" / "redis-users.acl"], end="")
    elif word == "write":
        for path, text in files().items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    elif word == "check":
        old = [str(p.relative_to(ROOT)) for p, t in files().items() if not p.exists() or p.read_text() != t]
        return print(f"not what tools/access.py makes: {', '.join(old)}") or 1 if old else 0
    else:
        print(__doc__.strip())
        return 0 if word == "--help" else 64
    return 0


if __name__ == "__main__":
    sys.exit(main())
