"""In every daemon's main, health is what is opened last, so that it is freed first: its threads look at all
that was opened before, to the end (decision 0323).

Prints what is not so and exits 1."""
import re
import sys
from pathlib import Path


def opened(text):
    """What main's self-freeing variables hold, in order."""
    return re.findall(r"TAB_AUTO\((\w+)\)", text[text.index("int main(") :])


found = 0
mains = sorted(Path("services").glob("*/main.c"))
for main in mains:
    order = opened(main.read_text(encoding="utf-8"))
    if "tab_health" not in order or order[-1] != "tab_health":
        print(f"{main}: opened in the order {', '.join(order)}; tab_health is to be the last")
        found += 1
sys.exit(1 if found or not mains else 0)
