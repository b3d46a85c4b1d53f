"""Trades of everyday.py: shops, schools, hospitals and what keeps keys as they do."""

from everyday_schema import CITIES, NOUNS


def shop(s):
    c, a, p, o, w = s.n(400), s.n(650), s.n(120), s.n(1500), s.n(4000)
    category, supplier, shipper, status = s.key(8), s.key(s.n(14, 5)), s.key(3), s.key(5)
    s.table("categories", id=category, name=s.rng.sample(NOUNS, 8))
    s.table("suppliers", id=supplier, company=s.people(len(supplier)), city=s.cities(len(supplier)))
    s.table("shippers", id=shipper, name=["Post", "Swift Parcel", "Van & Sons"])
    s.table("statuses", id=status, name=["new", "paid", "packed", "sent", "returned"])
    customer, product, order = s.key(c), s.key(p), s.key(o)
    s.table("customers", id=customer, name=s.people(c), age=s.bell(c, 42, 14, 18, 90), joined=s.days(c))
    address = s.key(a)
    s.table("addresses", id=address, customer_id=s.of(customer, a), street=s.streets(a), city=s.cities(a))
    s.table(
        "products",
        id=product,
        name=s.things(p),
        category_id=s.of(category, p),
        supplier_id=s.of(supplier, p),
        price=s.money(p),
        in_stock=s.ints(p, 0, 90),
    )
    billing = s.of(address, o)
    s.table(
        "orders",
        id=order,
        customer_id=s.of(customer, o),
        billing_address_id=billing,
        shipping_address_id=[x if s.rng.random() < 0.7 else s.rng.choice(address) for x in billing],
        status_id=s.of(status, o, skew=True),
        shipped_by=s.of(shipper, o, none=0.2),
        placed=s.days(o),
    )
    s.table(
        "order_lines",
        id=s.key(w),
        order_id=sorted(s.of(order, w), key=order.index),
        product_id=s.of(product, w, used=0.85),
        quantity=s.few(w),
        price=s.money(w),
        discount_percent=s.of([0, 0, 0, 5, 10, 15], w),
    )
    r = s.n(600)
    s.table(
        "reviews",
        id=s.key(r),
        customer_id=s.of(customer, r, used=0.5),
        product_id=s.of(product, r, used=0.6),
        stars=s.of([1, 2, 3, 4, 4, 5, 5, 5], r),
        written=s.days(r),
    )
    s.ref("addresses", "customer_id", "customers", "id")
    s.ref("products", "category_id", "categories", "id")
    s.ref("products", "supplier_id", "suppliers", "id")
    s.ref("orders", "customer_id", "customers", "id")
    s.ref("orders", "billing_address_id", "addresses", "id")
    s.ref("orders", "shipping_address_id", "addresses", "id")
    s.ref("orders", "status_id", "statuses", "id")
    s.ref("orders", "shipped_by", "shippers", "id")
    s.ref("order_lines", "order_id", "orders", "id")
    s.ref("order_lines", "product_id", "products", "id")
    s.ref("reviews", "customer_id", "customers", "id")
    s.ref("reviews", "product_id", "products", "id")


def school(s):
    k, t, r, p, l, g = s.n(20), s.n(32), s.n(28), s.n(480, 60), s.n(500), s.n(3000)
    subject, teacher, room, klass, pupil = s.key(12), s.key(t), s.key(r), s.key(k), s.key(p)
    s.table("subjects", subject_id=subject, title=s.rng.sample(NOUNS, 12), hours=s.ints(12, 1, 5))
    s.table("teachers", teacher_id=teacher, name=s.people(t), born=s.ints(t, 1958, 1999))
    s.table("rooms", room_id=room, floor=s.ints(r, 0, 3), capacity=s.ints(r, 18, 34))
    s.table(
        "classes",
        class_id=klass,
        grade=s.ints(k, 5, 12),
        teacher_id=s.rng.sample(teacher, min(k, t)) + [s.rng.choice(teacher) for _ in range(max(0, k - t))],
        room_id=s.of(room, k),
        pupils=s.ints(k, 17, 29),
    )
    s.table(
        "pupils", pupil_id=pupil, name=s.people(p), class_id=s.of(klass, p, skew=False), age=s.ints(p, 10, 18)
    )
    s.table(
        "lessons",
        lesson_id=s.key(l),
        class_id=s.of(klass, l, skew=False),
        subject_id=s.of(subject, l),
        teacher_id=s.of(teacher, l),
        room_id=s.of(room, l),
        weekday=s.ints(l, 1, 5),
        period=s.ints(l, 1, 8),
    )
    s.table(
        "marks",
        mark_id=s.key(g),
        pupil_id=s.of(pupil, g, skew=False),
        subject_id=s.of(subject, g),
        mark=s.bell(g, 3, 1, 1, 6),
        day=s.days(g, (2024, 2024)),
    )
    u = s.n(300)
    s.table("guardians", name=s.people(u), pupil_id=s.of(pupil, u), phone=s.ints(u, 200000, 999999))
    s.ref("classes", "teacher_id", "teachers", "teacher_id")
    s.ref("classes", "room_id", "rooms", "room_id")
    s.ref("pupils", "class_id", "classes", "class_id")
    for c, of in (
        ("class_id", "classes"),
        ("subject_id", "subjects"),
        ("teacher_id", "teachers"),
        ("room_id", "rooms"),
    ):
        s.ref("lessons", c, of, c)
    s.ref("marks", "pupil_id", "pupils", "pupil_id")
    s.ref("marks", "subject_id", "subjects", "subject_id")
    s.ref("guardians", "pupil_id", "pupils", "pupil_id")


def hospital(s):
    p, d, a, m, b, x = s.n(900), s.n(45, 12), s.n(1600), s.n(90), s.n(2600), s.n(2200)
    department, ward, doctor = s.key(9), s.key(12), s.key(d)
    patient, admission, drug = s.key(p), s.key(a), s.key(m)
    icd = sorted(
        {
            f"{s.rng.choice('ABCEIJKMNRSZ')}{s.rng.randrange(100):02d}.{s.rng.randrange(10)}"
            for _ in range(s.n(400, 60))
        }
    )
    s.table("departments", dept_no=department, name=s.rng.sample(NOUNS, 9), building=s.of(["A", "B", "C"], 9))
    s.table("wards", ward_no=ward, dept_no=s.of(department, 12), beds=s.ints(12, 8, 36))
    s.table(
        "doctors",
        doctor_no=doctor,
        name=s.people(d),
        dept_no=s.of(department, d),
        supervisor=s.above(doctor, 3),
    )
    s.table(
        "patients",
        patient_no=patient,
        name=s.people(p),
        age=s.bell(p, 55, 20, 0, 99),
        sex=s.of(["f", "m"], p),
    )
    s.table("icd_codes", code=icd, title=s.things(len(icd)))
    s.table("drugs", drug_no=drug, name=s.things(m), strength_mg=s.of([5, 10, 20, 50, 100, 250, 500], m))
    s.table(
        "admissions",
        admission_no=admission,
        patient_no=s.of(patient, a),
        ward_no=s.of(ward, a),
        doctor_no=s.of(doctor, a),
        days=s.few(a, 5, 40),
        admitted=s.days(a),
    )
    s.table("diagnoses", admission_no=s.of(admission, b), code=s.of(icd, b, used=0.4), rank=s.ints(b, 1, 5))
    s.table(
        "prescriptions",
        admission_no=s.of(admission, x),
        drug_no=s.of(drug, x, used=0.7),
        doses_a_day=s.ints(x, 1, 4),
        days=s.ints(x, 1, 30),
    )
    s.ref("wards", "dept_no", "departments", "dept_no")
    s.ref("doctors", "dept_no", "departments", "dept_no")
    s.ref("doctors", "supervisor", "doctors", "doctor_no")
    s.ref("admissions", "patient_no", "patients", "patient_no")
    s.ref("admissions", "ward_no", "wards", "ward_no")
    s.ref("admissions", "doctor_no", "doctors", "doctor_no")
    s.ref("diagnoses", "admission_no", "admissions", "admission_no")
    s.ref("diagnoses", "code", "icd_codes", "code")
    s.ref("prescriptions", "admission_no", "admissions", "admission_no")
    s.ref("prescriptions", "drug_no", "drugs", "drug_no")


def airline(s):
    n, c, f, p, b, w = s.n(180, 40), s.n(90), s.n(1500), s.n(1200), s.n(2500), s.n(150)
    port = sorted({"".join(s.rng.choice("ABCDEFGHIJKLMNOPRSTUVWXYZ") for _ in range(3)) for _ in range(n)})
    kind, craft, flight, person, crew = s.key(11), s.key(c), s.key(f), s.key(p), s.key(w)
    s.table("airports", iata=port, city=s.cities(len(port)), altitude=s.ints(len(port), 0, 2400))
    s.table(
        "aircraft_types", type_id=kind, model=s.things(11), seats=s.of([50, 76, 110, 150, 180, 220, 300], 11)
    )
    s.table("aircraft", aircraft_id=craft, type_id=s.of(kind, c), built=s.ints(c, 1996, 2024))
    s.table(
        "flights",
        flight_id=flight,
        origin=s.of(port, f, used=0.6),
        destination=s.of(port, f, used=0.6),
        aircraft_id=s.of(craft, f),
        day=s.days(f),
        minutes_late=s.few(f, 12, 240),
    )
    s.table("passengers", passenger_id=person, name=s.people(p), age=s.bell(p, 40, 18, 0, 92))
    s.table(
        "bookings",
        booking_id=s.key(b),
        passenger_id=s.of(person, b),
        flight_id=s.of(flight, b, skew=False),
        row=s.ints(b, 1, 38),
        seat=s.of(list("ABCDEF"), b),
        bags=s.ints(b, 0, 3),
        fare=s.money(b, 5),
    )
    s.table("crew", crew_id=crew, name=s.people(w), base=s.of(port, w, used=0.08), years=s.few(w, 8, 35))
    z = s.n(3200)
    s.table(
        "duties",
        flight_id=s.of(flight, z, skew=False),
        crew_id=s.of(crew, z),
        role=s.of(["captain", "officer", "cabin"], z),
    )
    s.ref("aircraft", "type_id", "aircraft_types", "type_id")
    s.ref("flights", "origin", "airports", "iata")
    s.ref("flights", "destination", "airports", "iata")
    s.ref("flights", "aircraft_id", "aircraft", "aircraft_id")
    s.ref("bookings", "passenger_id", "passengers", "passenger_id")
    s.ref("bookings", "flight_id", "flights", "flight_id")
    s.ref("crew", "base", "airports", "iata")
    s.ref("duties", "flight_id", "flights", "flight_id")
    s.ref("duties", "crew_id", "crew", "crew_id")


def library(s):
    b, a, m, l = s.n(500), s.n(260), s.n(700), s.n(3000)
    isbn = [str(9780000000000 + s.rng.randrange(10**9)) for _ in range(b)]
    author, member, branch = s.key(a), s.key(m), s.key(5)
    s.table("authors", author_id=author, name=s.people(a), born=s.ints(a, 1850, 1995))
    s.table("books", isbn=isbn, title=s.things(b), pages=s.ints(b, 60, 900), year=s.ints(b, 1950, 2024))
    w = s.n(650)
    s.table(
        "book_authors",
        isbn=s.of(isbn, w, skew=False),
        author_id=s.of(author, w),
        position=s.of([1, 1, 1, 2, 3], w),
    )
    s.table("branches", branch_id=branch, name=s.rng.sample(CITIES, 5), opened=s.ints(5, 1900, 2010))
    copies = [(i, k + 1) for i in isbn for k in range(s.rng.choice([1, 1, 2, 2, 3, 5]))]
    s.table(
        "copies",
        isbn=[x for x, _ in copies],
        copy_no=[x for _, x in copies],
        branch_id=s.of(branch, len(copies)),
        shelf=s.ints(len(copies), 1, 60),
    )
    s.table(
        "members", member_id=member, name=s.people(m), age=s.bell(m, 35, 18, 6, 90), branch_id=s.of(branch, m)
    )
    lent = s.of(copies, l)
    s.table(
        "loans",
        loan_id=s.key(l),
        isbn=[x for x, _ in lent],
        copy_no=[x for _, x in lent],
        member_id=s.of(member, l),
        day=s.days(l),
        renewals=s.of([0, 0, 0, 1, 2, 3], l),
    )
    s.ref("book_authors", "isbn", "books", "isbn")
    s.ref("book_authors", "author_id", "authors", "author_id")
    s.ref("copies", "isbn", "books", "isbn")
    s.ref("copies", "branch_id", "branches", "branch_id")
    s.ref("members", "branch_id", "branches", "branch_id")
    s.ref("loans", "isbn copy_no", "copies", "isbn copy_no")
    s.ref("loans", "member_id", "members", "member_id")


def staff(s):
    e, d, l, h, v = s.n(160, 30), s.n(24, 8), s.n(20), s.n(260), s.n(900)
    region, person, department, place = s.key(4), s.key(e), s.key(d), s.key(l)
    country = s.rng.sample(
        "AT BE BR CA CH CN DE DK EG ES FI FR GB GR IN IT JP KE KR MX NL NO PL PT SE TR US".split(), 22
    )
    job = [
        f"{x.upper()[:2]}_{y}"
        for x, y in zip(s.rng.sample(NOUNS, 16), s.of(["MAN", "REP", "CLERK", "VP"], 16))
    ]
    job = sorted(set(job))
    s.table("regions", region_id=region, name=["Europe", "Americas", "Asia", "Africa"])
    s.table("countries", code=country, region_id=s.of(region, 22))
    s.table("locations", location_id=place, city=s.cities(l), country=s.of(country, l, used=0.5))
    s.table("jobs", job=job, least=s.ints(len(job), 20, 60), most=s.ints(len(job), 61, 140))
    s.table(
        "departments",
        department_id=department,
        name=s.things(d),
        location_id=s.of(place, d),
        head=s.of(person, d, none=0.3),
    )
    s.table(
        "employees",
        employee_id=person,
        name=s.people(e),
        job=s.of(job, e),
        department_id=s.of(department, e, none=0.02),
        manager_id=s.above(person),
        hired=sorted(s.days(e, (2005, 2024))),
        salary=s.ints(e, 21, 139),
    )
    s.table(
        "job_history",
        employee_id=s.of(person, h, used=0.7),
        job=s.of(job, h),
        department_id=s.of(department, h),
        since=s.days(h),
    )
    s.table(
        "leave",
        leave_id=s.key(v),
        employee_id=s.of(person, v),
        days=s.few(v, 5, 25),
        approved_by=s.of(person, v, used=0.15),
    )
    s.ref("countries", "region_id", "regions", "region_id")
    s.ref("locations", "country", "countries", "code")
    s.ref("departments", "location_id", "locations", "location_id")
    s.ref("departments", "head", "employees", "employee_id")
    s.ref("employees", "job", "jobs", "job")
    s.ref("employees", "department_id", "departments", "department_id")
    s.ref("employees", "manager_id", "employees", "employee_id")
    s.ref("job_history", "employee_id", "employees", "employee_id")
    s.ref("job_history", "job", "jobs", "job")
    s.ref("job_history", "department_id", "departments", "department_id")
    s.ref("leave", "employee_id", "employees", "employee_id")
    s.ref("leave", "approved_by", "employees", "employee_id")


def league(s):
    t = 18
    team, ground, referee, player = s.key(t), s.key(t), s.key(24), s.key(s.n(420))
    s.table("stadiums", stadium_id=ground, name=s.things(t), seats=s.ints(t, 5000, 60000))
    home = ground[:]
    s.rng.shuffle(home)
    s.table(
        "teams", team_id=team, name=s.rng.sample(CITIES, t), stadium_id=home, founded=s.ints(t, 1880, 1990)
    )
    s.table("referees", referee_id=referee, name=s.people(24), age=s.ints(24, 25, 47))
    p = len(player)
    s.table(
        "players",
        player_id=player,
        name=s.people(p),
        team_id=s.of(team, p, skew=False),
        shirt=s.ints(p, 1, 34),
        age=s.ints(p, 17, 37),
    )
    games = [(a, b) for a in team for b in team if a != b]
    s.rng.shuffle(games)
    match, n = s.key(len(games)), len(games)
    s.table(
        "matches",
        match_id=match,
        round=[i // 9 + 1 for i in range(n)],
        home_team=[a for a, _ in games],
        away_team=[b for _, b in games],
        referee_id=s.of(referee, n, none=0.03),
        home_goals=s.few(n, 1.2, 7),
        away_goals=s.few(n, 1, 6),
    )
    g = s.n(900)
    s.table(
        "goals",
        goal_id=s.key(g),
        match_id=sorted(s.of(match, g, used=0.9, skew=False), key=match.index),
        player_id=s.of(player, g, used=0.5),
        minute=s.ints(g, 1, 90),
    )
    s.ref("teams", "stadium_id", "stadiums", "stadium_id")
    s.ref("players", "team_id", "teams", "team_id")
    s.ref("matches", "home_team", "teams", "team_id")
    s.ref("matches", "away_team", "teams", "team_id")
    s.ref("matches", "referee_id", "referees", "referee_id")
    s.ref("goals", "match_id", "matches", "match_id")
    s.ref("goals", "player_id", "players", "player_id")


def university(s):
    u, i, e = s.n(600), s.n(40, 10), s.n(3500)
    student, teacher = s.key(u), s.key(i)
    course = sorted(
        {
            f"{s.rng.choice(['MAT', 'PHY', 'BIO', 'ECO', 'HIS'])}{s.rng.randrange(100, 400)}"
            for _ in range(s.n(90, 20))
        }
    )
    rooms = [
        (b, 100 * f + k)
        for b in ("NORTH", "SOUTH", "EAST")
        for f in (1, 2, 3)
        for k in range(1, s.rng.randrange(4, 9))
    ]
    terms = ["2022W", "2023S", "2023W", "2024S"]
    section = [
        (c, t, k + 1)
        for c in course
        for t in terms
        if s.rng.random() < 0.6
        for k in range(s.rng.choice([1, 1, 2, 3]))
    ]
    n = len(section)
    s.table("students", student_id=student, name=s.people(u), semester=s.few(u, 4, 14))
    s.table("instructors", instructor_id=teacher, name=s.people(i), office=s.ints(i, 101, 350))
    s.table("courses", course=course, title=s.things(len(course)), credits=s.of([3, 4, 5, 6, 8], len(course)))
    s.table(
        "rooms", building=[b for b, _ in rooms], room=[r for _, r in rooms], seats=s.ints(len(rooms), 12, 240)
    )
    place = s.of(rooms, n)
    s.table(
        "sections",
        course=[x[0] for x in section],
        term=[x[1] for x in section],
        section=[x[2] for x in section],
        instructor_id=s.of(teacher, n),
        building=[b for b, _ in place],
        room=[r for _, r in place],
    )
    taken = s.of(section, e)
    s.table(
        "enrolments",
        student_id=s.of(student, e, skew=False),
        course=[x[0] for x in taken],
        term=[x[1] for x in taken],
        section=[x[2] for x in taken],
        mark=s.of([1.0, 1.3, 2.0, 2.7, 3.0, 4.0, 5.0], e),
    )
    s.ref("sections", "course", "courses", "course")
    s.ref("sections", "instructor_id", "instructors", "instructor_id")
    s.ref("sections", "building room", "rooms", "building room")
    s.ref("enrolments", "student_id", "students", "student_id")
    s.ref("enrolments", "course term section", "sections", "course term section")


def warehouse(s):
    site, k = s.key(4), s.n(300)
    sku = [f"{s.rng.choice(['KX', 'LM', 'PT'])}-{i}" for i in s.rng.sample(range(1000, 9999), k)]
    aisles = [(w, a) for w in site for a in range(1, s.rng.randrange(6, 14))]
    bins = [(w, a, b) for w, a in aisles for b in range(1, s.rng.randrange(5, 16))]
    s.table("sites", site_id=site, city=s.rng.sample(CITIES, 4), square_metres=s.ints(4, 900, 9000))
    s.table(
        "aisles",
        site_id=[x[0] for x in aisles],
        aisle=[x[1] for x in aisles],
        length_m=s.ints(len(aisles), 12, 60),
        cold=s.of(["yes", "no", "no"], len(aisles)),
    )
    s.table(
        "bins",
        site_id=[x[0] for x in bins],
        aisle=[x[1] for x in bins],
        bin=[x[2] for x in bins],
        max_kg=s.of([50, 100, 250, 500], len(bins)),
    )
    s.table(
        "items",
        sku=sku,
        name=s.things(k),
        weight_kg=s.money(k, 1),
        pack_size=s.of([1, 1, 2, 5, 6, 10, 12], k),
    )
    t = s.rng.sample(bins, int(len(bins) * 0.8))
    s.table(
        "stock",
        site_id=[x[0] for x in t],
        aisle=[x[1] for x in t],
        bin=[x[2] for x in t],
        sku=s.of(sku, len(t), used=0.9),
        quantity=s.few(len(t), 14, 90),
    )
    m = s.n(2500)
    x = s.of(bins, m)
    picker = s.key(s.n(22, 8))
    s.table("pickers", picker_id=picker, name=s.people(len(picker)), shift=s.of([1, 2, 3], len(picker)))
    s.table(
        "moves",
        move_id=s.key(m),
        sku=s.of(sku, m),
        site_id=[y[0] for y in x],
        aisle=[y[1] for y in x],
        bin=[y[2] for y in x],
        quantity=s.few(m, 6, 60),
        picker_id=s.of(picker, m),
    )
    s.ref("aisles", "site_id", "sites", "site_id")
    s.ref("bins", "site_id aisle", "aisles", "site_id aisle")
    s.ref("stock", "site_id aisle bin", "bins", "site_id aisle bin")
    s.ref("stock", "sku", "items", "sku")
    s.ref("moves", "sku", "items", "sku")
    s.ref("moves", "site_id aisle bin", "bins", "site_id aisle bin")
    s.ref("moves", "picker_id", "pickers", "picker_id")


def bank(s):
    b, c, a, t, d = s.n(16), s.n(700), s.n(1000), s.n(5000), s.n(500)
    branch, customer, account, kind = s.key(b), s.key(c), s.key(a), s.key(4)
    s.table("branches", branch_id=branch, city=s.cities(b), staff=s.ints(b, 3, 30))
    s.table("account_types", type_id=kind, name=["current", "savings", "deposit", "loan"])
    s.table(
        "customers",
        customer_id=customer,
        name=s.people(c),
        branch_id=s.of(branch, c),
        born=s.ints(c, 1935, 2006),
    )
    s.table(
        "accounts",
        account_id=account,
        customer_id=s.of(customer, a, skew=False),
        type_id=s.of(kind, a),
        balance=s.money(a, 6),
    )
    s.table(
        "transfers",
        transfer_id=s.key(t),
        from_account=s.of(account, t),
        to_account=s.of(account, t),
        amount=s.money(t, 4),
        day=s.days(t),
    )
    s.table(
        "cards",
        card_no=s.rng.sample(range(4 * 10**15, 5 * 10**15), d),
        account_id=s.of(account, d, used=0.5),
        limit=s.of([500, 1000, 2000, 5000], d),
    )
    s.ref("customers", "branch_id", "branches", "branch_id")
    s.ref("accounts", "customer_id", "customers", "customer_id")
    s.ref("accounts", "type_id", "account_types", "type_id")
    s.ref("transfers", "from_account", "accounts", "account_id")
    s.ref("transfers", "to_account", "accounts", "account_id")
    s.ref("cards", "account_id", "accounts", "account_id")
