"""How it looks: an accessibility checker, narrow pages, where the parts lie."""

from checks import PAGES, check


def looks(b):
    """What a checker of accessibility finds, and whether a narrow page needs to be moved sideways."""
    for dark in (False, True):
        b.look(dark)
        for page in PAGES:
            b.go(page)
            b.until(lambda: not b.all(".waiting"))
            found = b.axe()
            check(f"{page}, {'dark' if dark else 'light'}: nothing serious", not found, found)
    b.look(width=420)
    for page in PAGES:
        b.go(page)
        b.until(lambda: not b.all(".waiting"))
        wide = b.script("return document.documentElement.scrollWidth - innerWidth")
        check(f"{page}, narrow: nothing hangs over", wide <= 0, wide)
    b.look()


def reference(b):
    """The API reference, which nobody needs to sign in for."""
    for dark, width in ((False, 1280), (True, 1280), (False, 420)):
        b.look(dark, width)
        b.driver.get(b.url + "/console/reference/")
        b.one("#post-run")
        found = b.axe()
        check(f"reference, {'dark' if dark else 'light'}, {width}: nothing serious", not found, found)
        wide = b.script("return document.documentElement.scrollWidth - innerWidth")
        check(f"reference, {width}: nothing hangs over", wide <= 0, wide)
    b.look()
    b.driver.get(b.url + "/console/")


def parts(b, places):
    """The same of the parts of results, of an endpoint, of a dataset: pages, and whether in the dark."""
    for page, dark in places:
        b.look(dark)
        b.go(page)
        b.one("[role=tab]")
        for name in [t.get_attribute("data-tab") for t in b.all("[role=tab]")]:
            if dark and name not in (
                "overview",
                "map",
                "matches",
                "forecast",
                "prediction",
                "values",
                "snapshots",
            ):
                continue
            b.tab(name)
            b.until(lambda: not b.all(".waiting"))
            found = b.axe()
            check(
                f"{page.split('/')[0]} {name}, {'dark' if dark else 'light'}: nothing serious",
                not found,
                found,
            )
    b.look()


# Where the main parts of three pages lie at 1280 px: [left, top, width], in px; the height is the content's.
# Fonts differ between machines, so boxes are compared and not pictures (decision 0345).
BOXES = {
    "run": {
        ".side": [0, 0, 216],
        "main": [216, 0, 1054],
        ".head": [248, 28, 990],
        ".drop": [248, 120, 990],
        ".steps": [248, 318, 990],
    },
    "endpoints/first": {
        ".side": [0, 0, 216],
        ".head": [248, 28, 990],
        ".head .row": [894, 28, 344],
        ".facts": [248, 100, 990],
        "[role=tablist]": [248, 322, 990],
        "[role=tabpanel]": [248, 388, 990],
    },
    "usage": {
        ".side": [0, 0, 216],
        ".head": [248, 28, 990],
        ".facts": [248, 100, 990],
        ".card": [248, 244, 990],
    },
}
OFF = 40  # px that fonts, a scroll bar and a line that wraps may move a part


def boxes(b):
    """The parts of three pages lie where they lay when a person looked, and none lies upon another."""
    where = (
        "return arguments[0].map(css => { const e = document.querySelector(css); if (!e) return null;"
        "const r = e.getBoundingClientRect(); return [r.left, r.top + scrollY, r.width].map(Math.round); })"
    )
    below = (
        "const out = []; for (const box of document.querySelectorAll('main > div, main .stack')) {"
        "const all = [...box.children].filter(e => e.offsetParent && !e.matches('.hidden, dialog'));"
        "for (let i = 1; i < all.length; i++) if (all[i].getBoundingClientRect().top <"
        "all[i - 1].getBoundingClientRect().bottom - 1) out.push(all[i].className); } return out"
    )
    for page, want in BOXES.items():
        b.go(page)
        b.until(lambda: all(b.script(where, list(want))) and not b.all(".waiting"))
        is_at = dict(zip(want, b.script(where, list(want))))
        near = lambda x, y: x is not None and all(abs(p - q) <= OFF for p, q in zip(x, y))
        moved = {css: [is_at[css], want[css]] for css in want if not near(is_at[css], want[css])}
        check(f"{page}: its parts lie where they did", not moved, moved)
        upon = b.script(below)
        check(f"{page}: no part lies upon another", not upon, upon)
