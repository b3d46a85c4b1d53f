"""Chromium without a screen, through its own driver: what a person does with keyboard and eyes."""

import json, os, pathlib, sys, time

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

AXE = pathlib.Path(__file__).resolve().parent / "axe-core-4.14.1" / "axe.min.js"
LONG_S = 300  # how long something is waited for: a machine may be slow

# What a browser's log says of an answer that is a refusal, which is no fault of a page.
REFUSALS = tuple(f"status of {s}" for s in (400, 401, 403, 404, 409, 429))


class Browser:
    def __init__(self, url, downloads, dark=False, width=1280, height=900):
        o = webdriver.ChromeOptions()
        o.binary_location = "/usr/bin/chromium"
        for a in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
            o.add_argument(a)
        o.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=o)
        self.driver.set_script_timeout(LONG_S)
        self.url, self.downloads, self.said = url, pathlib.Path(downloads), []
        self.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        self.look(dark, width, height)

    def cdp(self, what, **how):
        return self.driver.execute_cdp_cmd(what, how)

    def look(self, dark=False, width=1280, height=900):
        scheme = "dark" if dark else "light"
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def script(self, text, *args):
        return self.driver.execute_script(text, *args)

    def until(self, what, seconds=LONG_S):
        """Asks until what() is true; gives its last answer. A page that is drawn meanwhile is asked again."""
        end, last = time.monotonic() + seconds, None
        while time.monotonic() < end:
            try:
                last = what()
                if last:
                    return last
            except WebDriverException:
                last = None
            time.sleep(0.05)
        return last

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        found = self.until(lambda: self.all(css), 120)
        if not found:
            raise AssertionError(f"no {css} at {self.at()}: {self.text()[:300]!r}")
        return found[0]

    def text(self):
        return self.script("return document.body.innerText")

    def shows(self, *texts):
        return self.until(lambda: all(t in self.text() for t in texts), 30)

    def button(self, name, within=""):
        """The button or the link of this name, as it is read aloud."""
        find = """const [name, css] = arguments;
            for (const b of document.querySelectorAll(`${css} button, ${css} a, ${css} [role=tab]`))
                if (b.offsetParent && b.textContent.trim().replace(/\\s+/g, " ") === name) return b;"""
        found = self.until(lambda: self.script(find, name, within), 60)
        if not found:
            raise AssertionError(f"no button {name!r} at {self.at()}: {self.text()[:400]!r}")
        return found

    def press(self, name, within=""):
        for _ in range(20):  # what is drawn anew while it is pressed is pressed again
            try:
                return self.button(name, within).click()
            except WebDriverException:
                time.sleep(0.1)
        raise AssertionError(f"{name!r} cannot be pressed at {self.at()}")

    def tab(self, id):
        self.one(f'[data-tab="{id}"]').click()
        self.until(lambda: self.all(f'[data-tab="{id}"][aria-selected="true"]'))

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        return self.script("return document.activeElement.textContent.trim().replace(/\\s+/g, ' ')")

    def tab_to(self, name, most=60):
        """With the Tab key alone to the thing of this name on the page."""
        for _ in range(most):
            if self.focused() == name and self.script("return !!document.activeElement.closest('main')"):
                return True
            self.keys(Keys.TAB)
        return False

    def at(self):
        return self.script("return location.href")

    def open(self, path=""):
        self.driver.get(self.url + "/console/" + path)

    def go(self, page):
        """To a page within the console, once it has drawn its heading."""
        self.script("location.hash = arguments[0]", "#/" + page)
        self.until(lambda: page in self.at() and self.all("main h1"))

    def sign_in(self, key):
        self.one("input[name=key]").send_keys(key, Keys.ENTER)
        self.one(".frame")

    def log(self):
        """What the console of the browser said since, but for answers that are refusals."""
        self.said += self.driver.get_log("browser")
        return [x["message"] for x in self.said if not any(r in x["message"] for r in REFUSALS)]

    def downloaded(self, name):
        path = self.downloads / name
        self.until(path.exists)
        self.until(lambda: not list(self.downloads.glob("*.crdownload")))
        text = path.read_text()
        path.unlink()
        return text

    def axe(self):
        """What an accessibility checker finds serious on this page."""
        self.log()
        self.script(AXE.read_text())
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then("
            "r => done(r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map("
            "v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160), v.nodes[0].failureSummary])),"
            "e => done([['failed', String(e)]]))"
        )
        self.driver.get_log("browser")  # the checker's own
        return found

    def requests(self):
        """What the page asked for: address and bytes on the wire."""
        return self.script(
            "return performance.getEntries().filter(e => e.transferSize !== undefined)"
            ".map(e => [e.name, e.transferSize])"
        )

    def close(self):
        self.driver.quit()
