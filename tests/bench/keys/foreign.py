#!/usr/bin/env python3
"""Writes public schemas that nobody looks at while keys are worked on, for tests/bench/keys.

  foreign.py OUT DIR     (DIR/owner+name/repo is a git directory, as for public.py)

They are measured alone: the model does not learn on them, and what is wrong in them is not read.  With
--counter the first column of each table is a count of its rows from 0, as pandas writes it."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import public  # noqa: E402
from public import dump, files, keys, listing, read_csv, save  # noqa: E402


def worldcup(out, repo):
    """Tables of matches, players and what they did; each repeats the names of what it refers to."""
    tables = {}
    for p in listing(repo, "data-csv/"):
        try:
            columns, rows = read_csv(repo, p)
        except FileNotFoundError:
            continue
        tables[os.path.basename(p)[:-4]] = (columns, rows)
    parents = {
        **{
            f"{t}_id": (t + "s", f"{t}_id")
            for t in "tournament team stadium match player manager referee award".split()
        },
        "confederation_id": ("confederations", "confederation_id"),
        "home_team_id": ("teams", "team_id"),
        "away_team_id": ("teams", "team_id"),
        "opponent_id": ("teams", "team_id"),
        "player_team_id": ("teams", "team_id"),
    }
    parents["match_id"] = ("matches", "match_id")
    truth = []
    for t, (columns, rows) in tables.items():
        for c in columns:
            if c not in parents or parents[c][0] == t or parents[c][0] not in tables:
                continue
            of = tables[parents[c][0]]
            at = of[0].index(parents[c][1])
            values = [r[at] for r in of[1]]
            if len(set(values)) == len(values):
                truth.append((t, (c,), *parents[c][:1], (parents[c][1],)))
        for two, parent in (
            (("tournament_id", "team_id"), "qualified_teams"),
            (("tournament_id", "player_id"), "squads"),
            (("tournament_id", "stage_name"), "tournament_stages"),
            (("tournament_id", "referee_id"), "referee_appointments"),
            (("match_id", "team_id"), "team_appearances"),
        ):
            for other in ("", "player_", "home_", "away_", "opponent_id"):
                own = tuple(other if other == "opponent_id" and c == "team_id" else c for c in two)
                if other.endswith("_"):
                    own = tuple(other + c if c == "team_id" else c for c in two)
                told = "match_id" in columns and parent in ("tournament_stages", "referee_appointments")
                if t != parent and parent in tables and set(own) <= set(columns) and not told:
                    truth.append((t, own, parent, two))
    save(out, "worldcup", "worldcup", tables, truth)


MIMIC = "; ".join(
    f"{t}.subject_id>patients.subject_id; {t}.hadm_id>admissions.hadm_id"
    for t in (
        "callout cptevents datetimeevents diagnoses_icd drgcodes icustays inputevents_mv microbiologyevents"
        " outputevents prescriptions procedureevents_mv procedures_icd services transfers"
    ).split()
)
MIMIC += """; admissions.subject_id>patients.subject_id; diagnoses_icd.icd9_code>d_icd_diagnoses.icd9_code;
 procedures_icd.icd9_code>d_icd_procedures.icd9_code; inputevents_mv.itemid>d_items.itemid;
 datetimeevents.itemid>d_items.itemid; outputevents.itemid>d_items.itemid;
 procedureevents_mv.itemid>d_items.itemid; datetimeevents.cgid>caregivers.cgid;
 inputevents_mv.cgid>caregivers.cgid; outputevents.cgid>caregivers.cgid;
 procedureevents_mv.cgid>caregivers.cgid; microbiologyevents.spec_itemid>d_items.itemid;
 microbiologyevents.org_itemid>d_items.itemid; microbiologyevents.ab_itemid>d_items.itemid"""
MIMIC += "".join(
    f"; {t}.icustay_id>icustays.icustay_id"
    for t in "datetimeevents inputevents_mv outputevents prescriptions procedureevents_mv transfers".split()
)

GTFS = """trips.route_id>routes.route_id; trips.service_id>calendar.service_id;
 stop_times.trip_id>trips.trip_id; stop_times.stop_id>stops.stop_id; routes.agency_id>agency.agency_id;
 transfers.from_stop_id>stops.stop_id; transfers.to_stop_id>stops.stop_id"""

MARCH = []
for (
    T
) in "MConferenceTourneyGames MGameCities MNCAATourneyCompactResults MNCAATourneyDetailedResults".split() + [
    "MSecondaryTourneyCompactResults"
]:
    MARCH += [f"{T}.season,{w}teamid>MTeamConferences.season,teamid" for w in "wl"]
    MARCH += [f"{T}.{w}teamid>MTeams.teamid" for w in "wl"]
for T in "MNCAATourneySeeds MSecondaryTourneyTeams MTeamCoaches MTeamConferences MTeamSpellings".split():
    MARCH += [f"{T}.teamid>MTeams.teamid"]
    if T not in ("MTeamConferences", "MTeamSpellings"):
        MARCH += [f"{T}.season,teamid>MTeamConferences.season,teamid"]
for T in (
    "MGameCities MNCAATourneyCompactResults MNCAATourneyDetailedResults MNCAATourneySeeds".split()
    + (
        "MNCAATourneySlots MSecondaryTourneyCompactResults MSecondaryTourneyTeams MTeamCoaches"
        " MTeamConferences MConferenceTourneyGames"
    ).split()
):
    MARCH += [f"{T}.season>MSeasons.season"]
MARCH += [
    "MConferenceTourneyGames.confabbrev>Conferences.confabbrev",
    "MTeamConferences.confabbrev>Conferences.confabbrev",
    "MGameCities.cityid>Cities.cityid",
]

MONDIAL = "; ".join(
    f"{t}.country>country.code"
    for t in (
        "city economy encompasses ethnicgroup ismember language organization politics population province"
        " religion geo_desert geo_estuary geo_island geo_lake geo_mountain geo_river geo_sea geo_source"
        " located locatedon"
    ).split()
)
for T, C in (
    ("desert", "desert"),
    ("estuary", "river"),
    ("island", "island"),
    ("lake", "lake"),
    ("mountain", "mountain"),
    ("river", "river"),
    ("sea", "sea"),
    ("source", "river"),
):
    MONDIAL += f"; geo_{T}.{C}>{C}.name; geo_{T}.province,country>province.name,country"
MONDIAL += """; borders.country1>country.code; borders.country2>country.code;
 encompasses.continent>continent.name; ismember.organization>organization.abbreviation;
 city.province,country>province.name,country; located.river>river.name; located.lake>lake.name;
 located.sea>sea.name; located.city,country,province>city.name,country,province;
 locatedon.city,country,province>city.name,country,province; locatedon.island>island.name;
 country.capital,code,province>city.name,country,province;
 province.capital,country,capprov>city.name,country,province;
 organization.city,country,province>city.name,country,province; islandin.island>island.name;
 islandin.sea>sea.name; islandin.lake>lake.name; islandin.river>river.name; mergeswith.sea1>sea.name;
 mergeswith.sea2>sea.name; mountainonisland.mountain>mountain.name; mountainonisland.island>island.name;
 river.sea>sea.name; river.lake>lake.name; river.river>river.name; lake.river>river.name;
 politics.dependent>country.code"""

FOREIGN = [
    ("jfjelstul/worldcup", worldcup),
    (
        "archp4/DALecture4",
        lambda o, r: files(
            o, "mimic", "mimic", r, [p for p in listing(r, "data/") if p.endswith(".csv")], MIMIC
        ),
    ),
    (
        "Football-Supporters-Group/amtrak-data",
        lambda o, r: files(o, "amtrak", "gtfs", r, listing(r, "src/test/resources/unzip/"), GTFS),
    ),
    (
        "tjurjevich/march_madness_2025",
        lambda o, r: files(
            o,
            "march",
            "march",
            r,
            [
                p
                for p in listing(r, "data/")
                if os.path.basename(p)[:2] in ("MC", "MG", "MN", "MS", "MT", "Ci", "Co")
            ],
            "; ".join(MARCH).lower(),
        ),
    ),
    (
        "ullenboom/mondial-database",
        lambda o, r: dump(
            o,
            "mondial",
            "mondial",
            r,
            ["mondial-schema-mysql.sql", "mondial-inputs-mysql.sql"],
            True,
            MONDIAL,
        ),
    ),
]


if __name__ == "__main__":
    args = [a for a in sys.argv[1:] if a not in ("--counter", "--all")]
    if len(args) != 2:
        sys.exit(__doc__)
    public.COUNTED = "--counter" in sys.argv
    public.SOURCES = FOREIGN if "--all" not in sys.argv else FOREIGN + public.SOURCES
    public.main(args[0], args[1:])
