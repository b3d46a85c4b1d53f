"""The protocol's Python SDK (`mcp` 2.x) as a client, for tests/suite/mcp-conformance, which runs this in the
Python that has it.

usage: client.py stdio PROGRAM   `PROGRAM mcp`, which this starts over a folder of its own
       client.py http URL KEY    POST /mcp

Prints a line for each check: [what, whether it holds, what was said]."""
import csv, json, os, pathlib, sys, tempfile

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

MODES = ("2026-07-28", "auto", "legacy")  # stateless, whichever the server has, with a handshake
TOOLS = ["understand", "match", "predict", "forecast", "check", "ask"]  # and `serve` of a service
TABLE = {
    "id": "goods",
    "columns": ["size", "colour", "price"],
    "rows": [
        [i % 17, "red" if i % 3 else "blue", None if i % 20 == 5 else i % 17 * 2 + i % 3] for i in range(120)
    ],
}


def check(what, ok, detail=""):
    print(json.dumps([what, bool(ok), str(detail)[:400]]), flush=True)


def text_of(result):
    return result.content[0].text if result.content else ""


async def session(client, mode, own):
    listed = (await client.list_tools()).tools
    wanted = TOOLS if own else [*TOOLS, "serve"]
    check(f"{mode}: its tools", [t.name for t in listed] == wanted, [t.name for t in listed])
    check(f"{mode}: each with a schema of its answer", all(t.output_schema for t in listed))
    check(f"{mode}: each read only", all(t.annotations.read_only_hint for t in listed))
    heard = []

    async def progress(done, total, phase):
        heard.append((done, total, phase))

    rows = "goods.csv" if own else TABLE
    found = await client.call_tool("understand", {"tables": [rows]}, progress_callback=progress)
    check(f"{mode}: understand answers as its schema says", found.structured_content, text_of(found))
    if own:  # a service's runs of a quarter of a second have none
        check(f"{mode}: its progress is heard", heard and heard[0][1] == 100, heard)
    found = await client.call_tool("predict", {"rows": rows, "target": "price"})
    answer = (found.structured_content or {}).get("answer", {}).get("prediction", {})
    check(f"{mode}: predict answers what is missing", answer.get("missing_target_results"), text_of(found))
    run = (found.structured_content or {}).get("run")
    asked = {"run": run, "part": "prediction.missing_target_results", "limit": 2}
    found = await client.call_tool("ask", asked)
    answer = (found.structured_content or {}).get("answer")
    check(f"{mode}: ask pages through it", answer and len(answer) == 2, text_of(found))
    found = await client.call_tool("predict", {"rows": rows, "target": "no such column"})
    check(f"{mode}: what is wrong is a result that names it", found.is_error, text_of(found))
    check(f"{mode}: with the column it is about", "no such column" in text_of(found), text_of(found))


async def main():
    kind, *where = sys.argv[1:]
    for mode in MODES:
        await (local if kind == "stdio" else remote)(mode, *where)


async def local(mode, program):
    with tempfile.TemporaryDirectory(prefix="tabella-mcp-") as folder:
        with open(pathlib.Path(folder, "goods.csv"), "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows([TABLE["columns"], *TABLE["rows"]])
        args = ["mcp", "--folder", folder]
        server = StdioServerParameters(command=program, args=args, env=dict(os.environ))
        async with Client(stdio_client(server), mode=mode) as client:
            await session(client, mode, True)


async def remote(mode, url, key):
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            await session(client, mode, False)


anyio.run(main)
