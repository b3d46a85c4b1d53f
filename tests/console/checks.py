"""What the rooms of the console's suite share."""

import pathlib, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "lib")]
from suite import Checks

check = Checks("console")
SAMPLES = ROOT / "tests" / "samples"
PAGES = [
    "run",
    "endpoints",
    "data",
    "jobs",
    "reports",
    "usage",
    "service-level",
    "keys",
    "audit",
    "notifications",
]
NASTY = '<img src=x onerror="window.broken=1">'

# Chooses an option of a dialog's select, by its name.
CHOOSE = (
    "const s = document.querySelector(`dialog select[name=${arguments[0]}]`); s.value = arguments[1];"
    "s.dispatchEvent(new Event('change', {bubbles: true}))"
)


def choose(b, *paths):
    b.one("input[type=file]").send_keys("\n".join(str(p) for p in paths))
    b.until(lambda: len(b.all("main li")) == len(paths))
