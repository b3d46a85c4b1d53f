"""More trades of everyday.py, and tables that have nothing to do with one another."""

from everyday_schema import CITIES, NOUNS


def hotel(s):
    g, r = s.n(800), s.n(2500)
    house, guest, kind = s.key(9), s.key(g), s.key(6)
    rooms = [
        (h, 100 * f + k)
        for h in house
        for f in range(1, s.rng.randrange(3, 6))
        for k in range(1, s.rng.randrange(6, 16))
    ]
    s.table("hotels", hotel_id=house, city=s.rng.sample(CITIES, 9), stars=s.ints(9, 2, 5))
    s.table("room_types", type_id=kind, name=s.things(6), beds=s.ints(6, 1, 4))
    s.table(
        "rooms",
        hotel_id=[h for h, _ in rooms],
        room_no=[k for _, k in rooms],
        type_id=s.of(kind, len(rooms)),
        square_metres=s.ints(len(rooms), 12, 48),
    )
    s.table("guests", guest_id=guest, name=s.people(g), age=s.bell(g, 45, 15, 18, 88), city=s.cities(g))
    x = s.of(rooms, r)
    s.table(
        "reservations",
        reservation_id=s.key(r),
        guest_id=s.of(guest, r),
        hotel_id=[h for h, _ in x],
        room_no=[k for _, k in x],
        nights=s.few(r, 2, 21),
        persons=s.ints(r, 1, 4),
        arrival=s.days(r),
    )
    i = s.n(900)
    s.table(
        "complaints",
        complaint_id=s.key(i),
        guest_id=s.of(guest, i, used=0.4),
        hotel_id=s.of(house, i),
        minutes=s.ints(i, 1, 60),
    )
    s.ref("rooms", "hotel_id", "hotels", "hotel_id")
    s.ref("rooms", "type_id", "room_types", "type_id")
    s.ref("reservations", "guest_id", "guests", "guest_id")
    s.ref("reservations", "hotel_id room_no", "rooms", "hotel_id room_no")
    s.ref("complaints", "guest_id", "guests", "guest_id")
    s.ref("complaints", "hotel_id", "hotels", "hotel_id")


def strangers(s):
    """Tables that have nothing to do with one another."""
    a, b, c, d, e, f = s.n(365), s.n(600), s.n(240), s.n(900), s.n(150), s.n(60)
    s.table(
        "weather",
        id=s.key(a),
        rain_mm=s.few(a, 5, 60),
        degrees=s.bell(a, 11, 8, -12, 36),
        wind=s.ints(a, 0, 90),
    )
    s.table("books", id=s.key(b), title=s.things(b), pages=s.ints(b, 40, 700), year=s.ints(b, 1950, 2024))
    s.table(
        "cars",
        id=s.key(c),
        model=s.things(c),
        doors=s.ints(c, 2, 5),
        horsepower=s.ints(c, 45, 240),
        year=s.ints(c, 1998, 2024),
    )
    s.table(
        "answers",
        id=s.key(d),
        age=s.bell(d, 44, 16, 16, 92),
        rating=s.ints(d, 1, 10),
        children=s.ints(d, 0, 5),
    )
    s.table(
        "runners",
        bib=s.key(e),
        name=s.people(e),
        place=s.rng.sample(range(1, e + 1), e),
        minutes=s.ints(e, 31, 90),
    )
    s.table("rooms", room=s.key(f), capacity=s.ints(f, 2, 40), floor=s.ints(f, 0, 6))


def music(s):
    r, a, t, c, i, l = s.n(200), s.n(300), s.n(2500), s.n(70, 20), s.n(450), s.n(2200)
    artist, album, track, person = s.key(r), s.key(a), s.key(t), s.key(8)
    kind, genre, customer, invoice, lists = s.key(5), s.key(20), s.key(c), s.key(i), s.key(16)
    s.table("artists", artist_id=artist, name=s.people(r))
    s.table("albums", album_id=album, title=s.things(a), artist_id=s.of(artist, a))
    s.table("media", media_id=kind, name=["MPEG", "AAC", "AIFF", "WAV", "OGG"])
    s.table("genres", genre_id=genre, name=s.rng.sample(NOUNS, 20))
    s.table(
        "tracks",
        track_id=track,
        name=s.things(t),
        album_id=sorted(s.of(album, t), key=album.index),
        media_id=s.of(kind, t, skew=True),
        genre_id=s.of(genre, t, skew=True),
        seconds=s.bell(t, 240, 80, 40, 900),
    )
    s.table(
        "staff",
        staff_id=person,
        name=s.people(8),
        reports_to=[None] + [person[0]] * 2 + [person[1]] * 3 + [person[2]] * 2,
    )
    s.table(
        "customers",
        customer_id=customer,
        name=s.people(c),
        support_rep=s.of(person[3:6], c),
        city=s.cities(c),
    )
    s.table(
        "invoices",
        invoice_id=invoice,
        customer_id=s.of(customer, i, skew=False),
        day=sorted(s.days(i)),
        total=s.money(i, 1),
    )
    s.table(
        "invoice_lines",
        line_id=s.key(l),
        invoice_id=sorted(s.of(invoice, l, skew=False), key=invoice.index),
        track_id=s.of(track, l, used=0.5),
        quantity=[1] * l,
    )
    s.table("playlists", playlist_id=lists, name=s.things(16))
    q = s.n(4000)
    pairs = sorted(
        {(x, y) for x, y in zip(s.of(lists, q), s.of(track, q))},
        key=lambda z: (lists.index(z[0]), track.index(z[1])),
    )
    s.table("playlist_tracks", playlist_id=[x for x, _ in pairs], track_id=[y for _, y in pairs])
    s.ref("albums", "artist_id", "artists", "artist_id")
    s.ref("tracks", "album_id", "albums", "album_id")
    s.ref("tracks", "media_id", "media", "media_id")
    s.ref("tracks", "genre_id", "genres", "genre_id")
    s.ref("staff", "reports_to", "staff", "staff_id")
    s.ref("customers", "support_rep", "staff", "staff_id")
    s.ref("invoices", "customer_id", "customers", "customer_id")
    s.ref("invoice_lines", "invoice_id", "invoices", "invoice_id")
    s.ref("invoice_lines", "track_id", "tracks", "track_id")
    s.ref("playlist_tracks", "playlist_id", "playlists", "playlist_id")
    s.ref("playlist_tracks", "track_id", "tracks", "track_id")


def insurance(s):
    h, p, v, c, g = s.n(500), s.n(750), s.n(620), s.n(400), s.n(26, 8)
    holder, agent, region, cause = s.key(h), s.key(g), s.key(5), s.key(7)
    policy = [f"P{s.rng.randrange(10**7):07d}" for _ in range(p)]
    s.table("regions", region_id=region, name=s.rng.sample(CITIES, 5))
    s.table("agents", agent_id=agent, name=s.people(g), region_id=s.of(region, g))
    s.table(
        "holders", holder_id=holder, name=s.people(h), age=s.bell(h, 47, 15, 18, 94), children=s.ints(h, 0, 4)
    )
    s.table(
        "policies",
        policy_no=policy,
        holder_id=s.of(holder, p, skew=False),
        agent_id=s.of(agent, p),
        premium=s.money(p, 6),
    )
    s.table(
        "vehicles",
        plate=[f"{s.rng.choice('ABCDEF')}{s.rng.randrange(10**5)}" for _ in range(v)],
        policy_no=s.of(policy, v, used=0.8),
        built=s.ints(v, 1999, 2024),
        seats=s.ints(v, 2, 9),
    )
    s.table("causes", cause_id=cause, name=s.rng.sample(NOUNS, 7))
    s.table(
        "claims",
        claim_id=s.key(c),
        policy_no=s.of(policy, c, used=0.4),
        cause_id=s.of(cause, c),
        amount=s.money(c, 7),
        days_open=s.few(c, 20, 200),
    )
    s.ref("agents", "region_id", "regions", "region_id")
    s.ref("policies", "holder_id", "holders", "holder_id")
    s.ref("policies", "agent_id", "agents", "agent_id")
    s.ref("vehicles", "policy_no", "policies", "policy_no")
    s.ref("claims", "policy_no", "policies", "policy_no")
    s.ref("claims", "cause_id", "causes", "cause_id")


def city(s):
    p, i = s.n(700), s.n(1100)
    lots = [
        (d, b, l)
        for d in (1, 2, 3, 4, 5)
        for b in range(1, s.rng.randrange(8, 20))
        for l in range(1, s.rng.randrange(4, 12))
    ]
    permit, inspector, use = s.key(p), s.key(s.n(14, 5)), s.key(6)
    s.table("land_uses", use_id=use, name=s.rng.sample(NOUNS, 6))
    s.table(
        "parcels",
        district=[x[0] for x in lots],
        block=[x[1] for x in lots],
        lot=[x[2] for x in lots],
        area=s.ints(len(lots), 120, 2400),
        use_id=s.of(use, len(lots)),
    )
    x = s.of(lots, p, used=0.5)
    s.table(
        "permits",
        permit_id=permit,
        district=[y[0] for y in x],
        block=[y[1] for y in x],
        lot=[y[2] for y in x],
        storeys=s.ints(p, 1, 9),
        filed=s.days(p),
    )
    s.table(
        "inspectors",
        inspector_id=inspector,
        name=s.people(len(inspector)),
        since=s.ints(len(inspector), 1990, 2023),
    )
    s.table(
        "inspections",
        inspection_id=s.key(i),
        permit_id=s.of(permit, i, used=0.8),
        inspector_id=s.of(inspector, i),
        passed=s.of(["yes", "no"], i),
        minutes=s.ints(i, 10, 120),
    )
    s.ref("parcels", "use_id", "land_uses", "use_id")
    s.ref("permits", "district block lot", "parcels", "district block lot")
    s.ref("inspections", "permit_id", "permits", "permit_id")
    s.ref("inspections", "inspector_id", "inspectors", "inspector_id")


def trial(s):
    site, arm = s.key(8), s.key(3)
    subject = [(x, k + 1) for x in site for k in range(s.rng.randrange(6, 30))]
    visit = [(x, k, w + 1) for x, k in subject for w in range(s.rng.randrange(2, 9))]
    s.table("sites", site_id=site, city=s.rng.sample(CITIES, 8))
    s.table("arms", arm_id=arm, name=["placebo", "low dose", "high dose"], dose_mg=[0, 10, 40])
    n = len(subject)
    s.table(
        "subjects",
        site_id=[x for x, _ in subject],
        subject_no=[k for _, k in subject],
        arm_id=s.of(arm, n, skew=False),
        age=s.ints(n, 18, 75),
        sex=s.of(["f", "m"], n),
    )
    m = len(visit)
    s.table(
        "visits",
        site_id=[x[0] for x in visit],
        subject_no=[x[1] for x in visit],
        visit_no=[x[2] for x in visit],
        day=s.days(m),
        weight=s.bell(m, 76, 13, 45, 130),
    )
    lab = [x for x in visit if s.rng.random() < 0.7]
    lab = [x for x in lab for _ in range(s.rng.randrange(1, 4))]
    q = len(lab)
    s.table(
        "labs",
        lab_id=s.key(q),
        site_id=[x[0] for x in lab],
        subject_no=[x[1] for x in lab],
        visit_no=[x[2] for x in lab],
        test=s.of(["ALT", "AST", "CRP", "HB"], q),
        value=s.money(q, 3),
    )
    s.ref("subjects", "site_id", "sites", "site_id")
    s.ref("subjects", "arm_id", "arms", "arm_id")
    s.ref("visits", "site_id subject_no", "subjects", "site_id subject_no")
    s.ref("labs", "site_id subject_no visit_no", "visits", "site_id subject_no visit_no")


def tickets(s):
    u, g, t, c, b = s.n(450), s.n(28, 8), s.n(1600), s.n(5000), s.n(2400)
    user, agent, ticket, tag, prio, state = s.key(u), s.key(g), s.key(t), s.key(25), s.key(4), s.key(6)
    s.table("users", user_id=user, name=s.people(u), seats=s.few(u, 10, 120))
    s.table("agents", agent_id=agent, name=s.people(g), lead_id=s.above(agent, 2), level=s.ints(g, 1, 3))
    s.table("priorities", priority_id=prio, name=["low", "normal", "high", "urgent"], hours=[72, 24, 8, 2])
    s.table("states", state_id=state, name=["new", "open", "waiting", "solved", "closed", "spam"])
    s.table(
        "tickets",
        ticket_id=ticket,
        requester_id=s.of(user, t),
        assignee_id=s.of(agent, t, none=0.15),
        priority_id=s.of(prio, t, skew=True),
        state_id=s.of(state, t, skew=True),
        opened=s.days(t),
        score=s.ints(t, 1, 5),
    )
    s.table(
        "comments",
        comment_id=s.key(c),
        ticket_id=sorted(s.of(ticket, c, skew=False), key=ticket.index),
        words=s.few(c, 40, 400),
    )
    s.table("tags", tag_id=tag, label=s.rng.sample(NOUNS, 25))
    s.table("ticket_tags", ticket_id=s.of(ticket, b, used=0.7), tag_id=s.of(tag, b, skew=True))
    s.ref("agents", "lead_id", "agents", "agent_id")
    s.ref("tickets", "requester_id", "users", "user_id")
    s.ref("tickets", "assignee_id", "agents", "agent_id")
    s.ref("tickets", "priority_id", "priorities", "priority_id")
    s.ref("tickets", "state_id", "states", "state_id")
    s.ref("comments", "ticket_id", "tickets", "ticket_id")
    s.ref("ticket_tags", "ticket_id", "tickets", "ticket_id")
    s.ref("ticket_tags", "tag_id", "tags", "tag_id")


def factory(s):
    p, m, w, d = s.n(350), s.n(24, 8), s.n(1200), s.n(800)
    part, machine, order, reason = s.key(p), s.key(m), s.key(w), s.key(7)
    s.table("parts", part_id=part, name=s.things(p), grams=s.ints(p, 1, 400), level=s.ints(p, 0, 4))
    bom = sorted({(part[i], part[s.rng.randrange(i + 1, p)]) for i in s.of(list(range(p // 2)), s.n(900))})
    s.table(
        "components",
        assembly=[x for x, _ in bom],
        component=[y for _, y in bom],
        pieces=s.few(len(bom), 2, 24),
    )
    s.table(
        "machines",
        machine_id=machine,
        model=s.things(m),
        bought=s.ints(m, 1995, 2024),
        operators=s.ints(m, 1, 4),
    )
    s.table(
        "work_orders",
        order_id=order,
        part_id=s.of(part, w, used=0.5),
        machine_id=s.of(machine, w),
        quantity=s.few(w, 40, 500),
        scrap=s.few(w, 3, 40),
        due=s.days(w),
    )
    steps = [(o, k + 1) for o in order for k in range(s.rng.randrange(1, 5))]
    n = len(steps)
    s.table(
        "steps",
        order_id=[o for o, _ in steps],
        step=[k for _, k in steps],
        machine_id=s.of(machine, n),
        minutes=s.ints(n, 5, 180),
    )
    s.table("reasons", reason_id=reason, text=s.rng.sample(NOUNS, 7))
    s.table(
        "downtimes",
        downtime_id=s.key(d),
        machine_id=s.of(machine, d),
        reason_id=s.of(reason, d, none=0.1),
        minutes=s.few(d, 25, 300),
    )
    q = s.n(500)
    x = s.of(steps, q)
    s.table(
        "checks",
        check_id=s.key(q),
        order_id=[o for o, _ in x],
        step=[k for _, k in x],
        deviation=s.money(q, 0),
        passed=s.of(["y", "n"], q),
    )
    s.ref("components", "assembly", "parts", "part_id")
    s.ref("components", "component", "parts", "part_id")
    s.ref("work_orders", "part_id", "parts", "part_id")
    s.ref("work_orders", "machine_id", "machines", "machine_id")
    s.ref("steps", "order_id", "work_orders", "order_id")
    s.ref("steps", "machine_id", "machines", "machine_id")
    s.ref("downtimes", "machine_id", "machines", "machine_id")
    s.ref("downtimes", "reason_id", "reasons", "reason_id")
    s.ref("checks", "order_id step", "steps", "order_id step")


def forum(s):
    u, p, v, b = s.n(500), s.n(3000), s.n(5000), s.n(900)
    user, post, badge, board = s.key(u), s.key(p), s.key(12), s.key(30)
    s.table("boards", board_id=board, title=s.things(30), parent_id=s.above(board, 5))
    s.table(
        "users", user_id=user, name=s.people(u), reputation=s.few(u, 60, 2000), age=s.bell(u, 33, 11, 14, 80)
    )
    up = [
        None if s.rng.random() < 0.3 or i == 0 else post[s.rng.randrange(max(0, i - 200), i)]
        for i in range(p)
    ]
    s.table(
        "posts",
        post_id=post,
        user_id=s.of(user, p, skew=True),
        board_id=s.of(board, p),
        reply_to=up,
        score=s.few(p, 4, 60),
        words=s.few(p, 50, 600),
    )
    s.table(
        "votes",
        vote_id=s.key(v),
        post_id=s.of(post, v, used=0.6),
        user_id=s.of(user, v, used=0.7),
        value=s.of([1, 1, 1, -1], v),
    )
    s.table("badges", badge_id=badge, name=s.rng.sample(NOUNS, 12), points=s.of([5, 10, 25, 50], 12))
    s.table("awards", user_id=s.of(user, b, used=0.5), badge_id=s.of(badge, b), day=s.days(b))
    w = int(u * 0.8)
    s.table(
        "profiles",
        user_id=sorted(s.rng.sample(user, w), key=user.index),
        city=s.cities(w),
        posts_a_page=s.of([10, 20, 50], w),
    )
    s.ref("boards", "parent_id", "boards", "board_id")
    s.ref("posts", "user_id", "users", "user_id")
    s.ref("posts", "board_id", "boards", "board_id")
    s.ref("posts", "reply_to", "posts", "post_id")
    s.ref("votes", "post_id", "posts", "post_id")
    s.ref("votes", "user_id", "users", "user_id")
    s.ref("awards", "user_id", "users", "user_id")
    s.ref("awards", "badge_id", "badges", "badge_id")
    s.ref("profiles", "user_id", "users", "user_id")


def campus(s):
    """Measures beside counters: places, ages, years, ratings."""
    r, p, b, e, a = s.n(55), s.n(320), s.n(1500), s.n(120), s.n(700)
    room, person, event = s.key(r), s.key(p), s.key(e)
    s.table("rooms", room_id=room, places=s.ints(r, 2, 40), floor=s.ints(r, 0, 5), windows=s.ints(r, 0, 8))
    s.table(
        "people",
        person_id=person,
        name=s.people(p),
        age=s.bell(p, 38, 14, 18, 80),
        entered=s.ints(p, 2000, 2024),
    )
    s.table(
        "bookings",
        booking_id=s.key(b),
        room_id=s.of(room, b),
        person_id=s.of(person, b),
        persons=s.few(b, 7, 40),
        hours=s.ints(b, 1, 9),
        week=s.ints(b, 1, 52),
    )
    s.table(
        "events",
        event_id=event,
        title=s.things(e),
        host_id=s.of(person, e, used=0.3),
        visitors=s.few(e, 50, 300),
        rating=s.ints(e, 1, 10),
    )
    s.table(
        "attendances",
        event_id=s.of(event, a),
        person_id=s.of(person, a),
        minutes=s.ints(a, 5, 180),
        stars=s.ints(a, 1, 5),
    )
    t = s.n(200)
    s.table(
        "meters",
        reading_id=s.key(t),
        degrees=s.bell(t, 20, 3, 8, 31),
        humidity=s.ints(t, 25, 75),
        people_seen=s.few(t, 6, 50),
    )
    s.ref("bookings", "room_id", "rooms", "room_id")
    s.ref("bookings", "person_id", "people", "person_id")
    s.ref("events", "host_id", "people", "person_id")
    s.ref("attendances", "event_id", "events", "event_id")
    s.ref("attendances", "person_id", "people", "person_id")
