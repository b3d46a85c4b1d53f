"""A seed's run: how many of each daemon, which links fail, which faults when, what the callers do. All of it
is drawn before the run begins, so the same seed is the same schedule."""
import random

import world

BLOCK = 8  # seeds in a row that share their daemons, so that a stack is not built anew for each
SERVERS = ("postgres", "nats", "redis")

# fault -> (its rate, seconds from, to): how likely beside the others, how long it lasts
FAULTS = {
    "kill": (5, 0, 0),
    "freeze": (4, 0.3, 6),
    "deaf": (3, 0.2, 3),
    "mute": (3, 0.2, 3),
    "hole": (1, 0.2, 3),
    "late": (4, 0.2, 4),
    "cut": (3, 0.1, 2),
    "slow": (2, 1, 4),
    "backends": (2, 0, 0),
    "postgres": (1, 0, 0),
    "nats": (1, 0, 0),
    "redis": (1, 0, 0),
    "wipe": (2, 0, 0),
    "clock": (2, 1, 4),
    "packets": (4, 0.3, 6),
    "slow_disk": (2, 1, 5),
    "full_disk": (1, 0.3, 3),
    "power": (2, 0, 0),
    "renew": (2, 0, 0),
}
NEEDS = {"clock": "points", "packets": "network", "slow_disk": "disk", "full_disk": "disk", "power": "disk"}


def topology(seed):
    """service -> how many; every second block has two of nearly everything."""
    rng = random.Random(f"topology {seed // BLOCK}")
    two = rng.choice((0.3, 0.9))
    return {s: 1 + (rng.random() < (0.9 if s == "api" else two)) for s in world.SERVICES}


def links(replicas):
    """Every daemon's way to PostgreSQL and NATS; Redis is asked by some."""
    more = {"api": ["redis"], "keys": ["redis"]}
    return {d: ["postgres", "nats", *more.get(d.split("-2")[0], [])] for d in world.names_of(replicas)}


def faults(seed, seconds, has):
    """[(when, fault, on whom, for how long, how much)] in the order of time; none in the first second. has:
    what of NEEDS is there; a fault that needs something else is drawn, and left out."""
    rng = random.Random(f"faults {seed}")
    replicas = topology(seed)
    daemons = world.names_of(replicas)
    ways = [f"{d}.{s}" for d, of in links(replicas).items() for s in of]
    rate = rng.choice((0.15, 0.4, 0.8))  # a second
    # swarm testing: few kinds often, all kinds too
    kinds = rng.sample(list(FAULTS), rng.randrange(3, len(FAULTS) + 1))
    out, at = [], 1 + rng.expovariate(rate)
    while at < seconds - 1:
        kind = rng.choices(kinds, [FAULTS[k][0] for k in kinds])[0]
        _, least, most = FAULTS[kind]
        of_ways = kind in ("deaf", "mute", "hole", "late", "cut", "slow", "packets")
        who = ways if of_ways else [*daemons, "gateway"]
        if kind == "freeze":
            who = [*daemons, *daemons, "redis", "nats", "postgres"]
        if kind in ("clock", "renew"):
            who = daemons
        if kind == "power":
            who = [d for d in daemons if d.startswith("api")]
        on = rng.choice(who) if of_ways or kind in ("kill", "freeze", "clock", "renew", "power") else kind
        much = rng.choice((-1, 1)) * 10 ** rng.uniform(0, 2.5) if kind == "clock" else 20 + 180 * rng.random()
        long = round(min(rng.uniform(least, most), seconds - at), 2)
        if NEEDS.get(kind, "") in ("", *has):
            out.append((round(at, 2), kind, on, long, round(much)))
        at += rng.expovariate(rate)
    return out
