"""A small OpenID Connect provider on loopback: discovery, a token endpoint that checks client, redirect, PKCE
and that a code is used once, and keys that can be rotated. What it signs can be bent, one token at a time."""
import base64, hashlib, hmac, http.server, json, secrets, threading, time, urllib.parse

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def b64_int(x, size=None):
    return b64(x.to_bytes(size or (x.bit_length() + 7) // 8, "big"))


class Key:
    """RS256 or ES256."""

    def __init__(self, kid, alg="RS256"):
        self.kid, self.alg = kid, alg
        self.private = (
            rsa.generate_private_key(public_exponent=65537, key_size=2048)
            if alg == "RS256"
            else ec.generate_private_key(ec.SECP256R1())
        )

    def public(self):
        n = self.private.public_key().public_numbers()
        own = (
            {"kty": "RSA", "n": b64_int(n.n), "e": b64_int(n.e)}
            if self.alg == "RS256"
            else {"kty": "EC", "crv": "P-256", "x": b64_int(n.x, 32), "y": b64_int(n.y, 32)}
        )
        return {"kid": self.kid, "use": "sig", "alg": self.alg, **own}

    def pem(self):
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def sign(self, text):
        if self.alg == "RS256":
            return self.private.sign(text, padding.PKCS1v15(), hashes.SHA256())
        r, s = utils.decode_dss_signature(self.private.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


class Provider(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, client="console", secret="s3cr+t/of=the client"):
        super().__init__(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server_address[1]}"
        self.client, self.secret, self.keys = client, secret, [Key("one")]
        self.codes, self.seen, self.refused, self.lock = {}, [], [], threading.Lock()
        self.bend = None  # called with (header, claims), may change both or give the whole token
        self.slow = 0
        # its own page, at `page_at`, lets (user, claims) in and sends the browser to `back` in place of the
        # client's address: a test's console has a port that no configuration knew
        self.page, self.back, self.page_at = None, None, None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def authorize(self, url, user, **claims):
        """What a browser gets from the provider's page once `user` has signed in there."""
        q = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query, strict_parsing=True))
        assert "/authorize?" in url and q["response_type"] == "code", url
        code = secrets.token_urlsafe(24)
        with self.lock:
            self.codes[code] = {"user": user, "claims": claims, **q}
        return code, q["state"]

    def token(self, code):
        """An ID token of this code."""
        now = int(time.time())
        header = {"alg": self.keys[0].alg, "kid": self.keys[0].kid, "typ": "JWT"}
        claims = {
            "iss": self.issuer,
            "aud": code["client_id"],
            "sub": code["user"],
            "nonce": code["nonce"],
            "iat": now,
            "exp": now + 300,
            "email": code["user"] + "@example.org",
            "email_verified": True,
            "name": code["user"].title(),
            **code["claims"],
        }
        bent = self.bend(header, claims) if self.bend else None
        return bent or self.signed(header, claims)

    def signed(self, header, claims, key=None):
        text = b64(json.dumps(header).encode()) + "." + b64(json.dumps(claims).encode())
        return text + "." + b64((key or self.keys[0]).sign(text.encode()))


def unsigned(header, claims):
    return b64(json.dumps({**header, "alg": "none"}).encode()) + "." + b64(json.dumps(claims).encode()) + "."


def hs256(header, claims, secret):
    text = b64(json.dumps({**header, "alg": "HS256"}).encode()) + "." + b64(json.dumps(claims).encode())
    return text + "." + b64(hmac.digest(secret, text.encode(), "sha256"))


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, what):
        body = what if isinstance(what, bytes) else json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        p = self.server
        with p.lock:
            p.seen.append(self.path)
        if self.path.startswith("/authorize?") and p.page:
            code, state = p.authorize(p.issuer + self.path, *p.page[:1], **p.page[1])
            self.send_response(302)
            self.send_header(
                "Location", p.back + "?" + urllib.parse.urlencode({"code": code, "state": state})
            )
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if self.path == "/jwks":
            return self.answer(200, {"keys": [k.public() for k in p.keys]})
        if self.path != "/.well-known/openid-configuration":
            return self.answer(404, {})
        self.answer(
            200,
            {
                "issuer": p.issuer,
                "authorization_endpoint": (p.page_at or p.issuer) + "/authorize",
                "token_endpoint": p.issuer + "/token",
                "jwks_uri": p.issuer + "/jwks",
                "response_types_supported": ["code"],
                "id_token_signing_alg_values_supported": ["RS256", "ES256"],
            },
        )

    def wrong(self, form):
        """Why the token endpoint refuses; None: it does not."""
        p = self.server
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        who = base64.b64decode(given).decode().partition(":") if kind == "Basic" else ("", "", "")
        if [urllib.parse.unquote(x) for x in (who[0], who[2])] != [p.client, p.secret]:
            return "invalid_client"
        with p.lock:
            code = p.codes.pop(form.get("code"), None)
        if code is None or form.get("grant_type") != "authorization_code":
            return "invalid_grant"
        challenge = b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        good = code["code_challenge_method"] == "S256" and hmac.compare_digest(
            challenge, code["code_challenge"]
        )
        if not good or form.get("redirect_uri") != code["redirect_uri"]:
            return "invalid_grant"
        self.code = code
        return None

    def do_POST(self):
        p = self.server
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        with p.lock:
            p.seen.append(self.path)
        time.sleep(p.slow)
        why = self.wrong(form)
        if why:
            with p.lock:
                p.refused.append(why)
            return self.answer(400, {"error": why})
        self.answer(200, {"access_token": "at", "token_type": "Bearer", "id_token": p.token(self.code)})
