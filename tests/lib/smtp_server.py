"""A mail server for tests, a process of its own that can be killed: aiosmtpd, by SMTP with STARTTLS and a
password. usage: smtp_server.py PORT FOLDER CERTIFICATE KEY USER PASSWORD, or PORT FOLDER alone: without TLS.

Each mail that it takes is a file of FOLDER, as it came. The local part of an address says how it is met:
`refused` 550, `busy` 451 as long as FOLDER/busy is there, `slow` is stored and not answered as long as
FOLDER/slow is there."""
import asyncio, os, pathlib, signal, ssl, sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])


class Handler:
    count = 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        local = address.split("@")[0]
        if local == "refused":
            return "550 no such mailbox"
        if local == "busy" and (folder / "busy").exists():
            return "451 try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        Handler.count += 1
        name = f"{os.getpid():08d}-{Handler.count:05d}"
        (folder / (name + ".part")).write_bytes(envelope.content)
        os.rename(folder / (name + ".part"), folder / (name + ".eml"))
        if envelope.rcpt_tos[0].startswith("slow") and (folder / "slow").exists():
            await asyncio.sleep(3600)
        return "250 OK"


def check(server, session, envelope, mechanism, data):
    (folder / "asked").touch()
    good = (data.login, data.password) == (sys.argv[5].encode(), sys.argv[6].encode())
    return AuthResult(success=good)


more = {}
if len(sys.argv) > 3:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    more = dict(tls_context=context, require_starttls=True, auth_required=True, authenticator=check)
controller = Controller(Handler(), hostname="127.0.0.1", port=port, **more)
controller.start()
signal.pause()
