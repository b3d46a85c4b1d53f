"""A browser at the pages of an identity provider: cookies, redirects, forms."""

import http.client, urllib.parse


class Visitor:
    """issuer: where it is; console: the address at which a sign-in comes back."""

    def __init__(self, issuer, console):
        self.issuer, self.console, self.cookies = issuer, console, {}

    def get(self, url, form=None):
        """Status, Location, body."""
        at = urllib.parse.urlsplit(urllib.parse.urljoin(self.issuer, url))
        c = http.client.HTTPConnection(at.hostname, at.port, timeout=60)
        body = None if form is None else urllib.parse.urlencode(form)
        headers = {} if form is None else {"Content-Type": "application/x-www-form-urlencoded"}
        headers["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        c.request("GET" if form is None else "POST", f"{at.path}?{at.query}", body, headers)
        got = c.getresponse()
        for line in got.headers.get_all("Set-Cookie") or ():
            name, _, value = line.split(";")[0].partition("=")
            self.cookies[name] = value
        text = got.read().decode()
        c.close()
        return got.status, got.headers.get("Location"), text

    def authorize(self, url, form_of):
        """Code and state; or None and the page at which it ends. form_of(page): where its form of a sign-in
        goes, "" for its own address, and what it is sent; None: it has none."""
        self.cookies, form, text = {}, None, ""
        for _ in range(8):
            status, to, text = self.get(url, form)
            asked = form_of(text) if form is None else None
            if to is not None and to.startswith(self.console):
                q = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(to).query))
                return q.get("code"), q.get("state")
            if to is not None:
                url, form = urllib.parse.urljoin(url, to), None
            elif asked is not None:
                url, form = urllib.parse.urljoin(url, asked[0]), asked[1]
            else:
                break
        return None, text
