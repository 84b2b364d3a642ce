"""What the columns of the Python SDKs share: rows, cells, a receiver of webhooks, a proxy that cuts connections."""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path

ROWS = (Path(__file__).parent.parent / "rows.txt").read_text().split()

ROW_SECONDS = 30

# What the agent makes of `stream`, and of `slow` piece by piece.
STREAMED = "one two three"
SLOW = "".join(f"{n} " for n in range(1, 21))

EXTENSION = "https://example.com/extensions/polite/v1"
TOKEN = "a-token-of-ours"


class NotOffered(Exception):
    """The card has no interface for this column."""


class NoCall(Exception):
    """The SDK has no call for this row."""


def want(condition, what):
    if not condition:
        raise AssertionError(what)


def same(found, wanted, what):
    want(found == wanted, f"{what} is {found!r}, not {wanted!r}")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True, help="the address of the agent")
    parser.add_argument("--strict-url", required=True, help="the address of one that wants an extension")
    parser.add_argument("--binding", required=True, choices=["jsonrpc", "rest", "grpc"])
    parser.add_argument("--version", required=True, choices=["0.3", "1.0"])
    return parser.parse_args()


async def run(peer, options, column, out=None):
    """Fills every cell of a column and prints each; `column` has a method for every row it knows.

    `out` is where the cells go, for clients that print on standard output themselves.
    """
    for row in ROWS:
        began = time.monotonic()
        outcome, detail = await fill(column, row)
        cell = {"peer": peer, "role": "client", "binding": options.binding, "version": options.version, "row": row,
                "outcome": outcome, "detail": detail, "ms": round((time.monotonic() - began) * 1000)}
        print(json.dumps(cell), file=out or sys.stdout, flush=True)


async def fill(column, row):
    method = getattr(column, row.replace("-", "_"), None)
    if method is None:
        return "none", "the SDK has no call for it"
    try:
        return "ok", await asyncio.wait_for(method(), ROW_SECONDS) or ""
    except NotOffered as error:
        return "not-offered", str(error)
    except NoCall as error:
        return "none", str(error)
    except (TimeoutError, asyncio.TimeoutError):
        return "failed", f"not done after {ROW_SECONDS} s"
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"


class Receiver:
    """Takes webhooks and keeps them: headers in lower case, and the body as JSON."""

    async def __aenter__(self):
        self.received = []
        self.changed = asyncio.Event()
        self.server = await asyncio.start_server(self.take, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/hook"
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def take(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[1:-2]
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in head)}
        body = await reader.readexactly(int(headers["content-length"]))
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        self.received.append((headers, json.loads(body)))
        self.changed.set()

    async def until(self, enough):
        """Waits until `enough` says so of one of the bodies; all that came."""
        while not any(enough(body) for _, body in self.received):
            self.changed.clear()
            await self.changed.wait()
        return self.received


class Proxy:
    """Passes bytes on to the agent, until it is told to cut what is open."""

    def __init__(self, host, port):
        self.host, self.port = host, port

    async def __aenter__(self):
        self.open = set()
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port_here = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.server.close()
        self.cut()

    def cut(self):
        for writer in list(self.open):
            writer.transport.abort()

    async def accept(self, reader, writer):
        there, back = await asyncio.open_connection(self.host, self.port)
        self.open |= {writer, back}
        await asyncio.gather(self.pass_on(reader, back), self.pass_on(there, writer))
        self.open -= {writer, back}

    async def pass_on(self, reader, writer):
        try:
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()


