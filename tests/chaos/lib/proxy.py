#!/usr/bin/env python3
"""TCP links between daemons and servers that fail on command: the broken network of the experiments.

Started with JSON on its command line, {"jobs.nats": {"listen": PORT, "to": PORT}, ...}. Commands come as
lines of JSON on standard input, and each is answered by a line:

  {"link": L, "mode": "pass"}                 as a wire
  {"link": L, "mode": "hole"}                 swallows bytes both ways, closes nothing
  {"link": L, "mode": "deaf"}                 passes what the daemon says, swallows what the server answers
  {"link": L, "mode": "mute"}                 passes what the server says, swallows what the daemon says
  {"link": L, "mode": "late", "side": "up" | "down"}   keeps what comes from this side until the mode changes
  {"link": L, "mode": "cut"}                  closes what is open, takes no new connection
  {"link": L, "mode": "slow", "ms": N}        each chunk comes N ms later
  {"link": L, "trap": [BYTES, ...], "side": "up" | "down", "kill": PID, "deliver": bool, "times": N}
        when a connection of L has carried the texts one after the other - the last one towards the server
        ("up") or back ("down") - PID is killed with kill -9, before ("deliver": false) or after the chunk
        went on. `fired` in later answers counts. "kill": 0 cuts the link's connections instead.
"""
import asyncio, json, os, signal, sys


class Link:
    def __init__(self, spec):
        self.listen, self.to = spec["listen"], spec["to"]
        self.mode, self.ms, self.side, self.trap, self.fired, self.open = "pass", 0, "", None, 0, set()

    async def serve(self):
        await asyncio.start_server(self.accept, "127.0.0.1", self.listen)

    async def accept(self, reader, writer):
        if self.mode == "cut":
            return writer.transport.abort()
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.to)
        except OSError:
            return writer.transport.abort()
        both = (writer, up_writer)
        self.open.add(both)
        seen = [0]  # how many texts of the trap this connection has carried
        try:
            done, rest = await asyncio.wait(
                [
                    asyncio.ensure_future(self.pump(reader, up_writer, "up", seen)),
                    asyncio.ensure_future(self.pump(up_reader, writer, "down", seen)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
            for t in rest:
                t.cancel()
        finally:
            self.open.discard(both)
            for w in both:
                w.transport.abort()

    async def pump(self, reader, writer, side, seen):
        tail = b""
        while True:
            try:
                data = await reader.read(65536)
            except OSError:
                return
            if not data:
                return
            sprung = self.trap and self.springs(tail + data, side, seen)
            tail = data[-64:]
            if sprung and not self.trap["deliver"]:
                self.kill()
                return
            if self.mode == "slow":
                await asyncio.sleep(self.ms / 1000)
            while self.mode == "late" and side == self.side:
                await asyncio.sleep(0.02)
            if self.mode == "hole" or (self.mode, side) in (("deaf", "down"), ("mute", "up")):
                continue
            try:
                writer.write(data)
                await writer.drain()
            except OSError:
                return
            if sprung:
                self.kill()

    def springs(self, text, side, seen):
        texts = self.trap["texts"]
        while seen[0] < len(texts):
            last = seen[0] == len(texts) - 1
            at = text.find(texts[seen[0]])
            if at < 0 or (last and side != self.trap["side"]):
                return False
            seen[0] += 1
            text = text[at + len(texts[seen[0] - 1]) :]
        seen[0] = 0
        return True

    def kill(self):
        self.fired += 1
        try:
            if self.trap["pid"] != 0:
                os.kill(self.trap["pid"], signal.SIGKILL)
            else:
                self.close_all()
        except ProcessLookupError:
            pass
        self.trap["times"] -= 1
        if self.trap["times"] <= 0:
            self.trap = None

    def close_all(self):
        for pair in list(self.open):
            for w in pair:
                w.transport.abort()

    def command(self, c):
        if "trap" in c:
            self.trap = (
                {
                    "texts": [t.encode() for t in c["trap"]],
                    "side": c.get("side", "up"),
                    "pid": c["kill"],
                    "deliver": c.get("deliver", False),
                    "times": c.get("times", 1),
                }
                if c["trap"]
                else None
            )
            self.fired = 0
        if "mode" in c:
            self.mode, self.ms, self.side = c["mode"], c.get("ms", 0), c.get("side", "")
            if self.mode == "cut":
                self.close_all()
        return {"fired": self.fired, "open": len(self.open)}


async def main():
    links = {name: Link(spec) for name, spec in json.loads(sys.argv[1]).items()}
    for link in links.values():
        await link.serve()
    loop = asyncio.get_event_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    print("ready", flush=True)
    while line := await lines.readline():
        c = json.loads(line)
        print(json.dumps(links[c["link"]].command(c)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
