"""A way to the real gateway that can be told to lose things. Faults are taken one by one, each by the next
request:

    "lost answer"   the gateway answers, the caller's connection is closed instead of carrying it
    "lost request"  the connection is closed before the gateway hears of it
    "idle close"    answered, and the kept connection is closed afterwards
    None            goes through"""

import re
import socket
import ssl
import subprocess
import threading


def certificate(path):
    """A certificate for 127.0.0.1 that signs itself, and its key, in one file."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
        + ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{path}.key", "-out", f"{path}.crt"],
        check=True,
        capture_output=True,
    )
    with open(path, "w", encoding="ascii") as f:
        for part in ("key", "crt"):
            with open(f"{path}.{part}", encoding="ascii") as source:
                f.write(source.read())
    return path


class Proxy:
    def __init__(self, port, certificate=None):
        """certificate: a file with a certificate for 127.0.0.1 and its key, for TLS towards the caller."""
        self.to, self.certificate, self.tls = port, certificate, None
        if certificate:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate)
        self.faults, self.heads, self.lock = [], [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def header(self, name):
        """The values that this header had in the requests so far."""
        found = [re.search(rf"(?im)^{name}: *(.*?)\r?$", h) for h in self.heads]
        return [m.group(1) for m in found if m]

    def clear(self, *faults):
        with self.lock:
            self.faults, self.heads = list(faults), []

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one):
        one.settimeout(60)
        try:
            if self.tls:
                one = self.tls.wrap_socket(one, server_side=True)
            with one, one.makefile("rb") as reader:
                while self._request(one, reader):
                    pass
        except OSError:
            pass

    def _request(self, one, reader):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = reader.readline()
            if not line:
                return False
            head += line
        body = b""
        length = re.search(rb"(?im)^content-length: *(\d+)", head)
        if length:
            body = reader.read(int(length.group(1)))
        elif re.search(rb"(?im)^transfer-encoding: *chunked", head):
            while not body.endswith(b"0\r\n\r\n"):
                size = reader.readline()
                body += size + reader.read(int(size, 16) + 2)
        with self.lock:
            self.heads.append(head.decode())
            fault = self.faults.pop(0) if self.faults else None
        if fault == "lost request":
            return False
        with socket.create_connection(("127.0.0.1", self.to), timeout=60) as out:
            out.sendall(re.sub(rb"(?i)\r\n\r\n$", b"\r\nConnection: close\r\n\r\n", head) + body)
            answer = b""
            while piece := out.recv(65536):
                answer += piece
        if fault == "lost answer":
            return False
        # The gateway closed its side as it was asked to; towards the caller the connection is kept.
        answer = re.sub(rb"(?im)^connection: *close\r\n", b"", answer, count=1)
        one.sendall(answer)
        return fault != "idle close"
