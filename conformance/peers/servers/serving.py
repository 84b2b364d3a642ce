"""What the servers of the Python SDKs share: the words of the agent, and how it is served."""

import argparse
import asyncio
import json
import os
import socket
from pathlib import Path

import uvicorn

STREAMED = ["one ", "two ", "three"]
SLOW = [f"{n} " for n in range(1, 21)]
SLOW_SECONDS = 0.1
LONG_SECONDS = 600

EXTENSION = "https://example.com/extensions/polite/v1"
NAME = "Peer"
DESCRIPTION = "Does what the first word says."
EXTENDED = "The same, and more."
MODES = ["text/plain", "application/json", "application/octet-stream"]


class Place:
    """Where the agent is: free ports of this machine. Its card may name others, for a proxy before it."""

    def __init__(self, over_grpc):
        parser = argparse.ArgumentParser()
        parser.add_argument("--url", help="the address in the card, if it is another one")
        parser.add_argument("--grpc", help="the same for gRPC: host:port")
        options = parser.parse_args()
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.here = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.grpc_here = f"127.0.0.1:{over_grpc.add_insecure_port('127.0.0.1:0')}"
        self.url, self.grpc = options.url or self.here, options.grpc or self.grpc_here

    def interfaces(self):
        """Binding and address."""
        return [("JSONRPC", f"{self.url}/"), ("HTTP+JSON", f"{self.url}/rest"), ("GRPC", self.grpc)]


async def serve(app, place, peer, strict=True):
    """Serves until the process is ended; says so once it can be called.

    `strict` says whether there is a second card, of an agent that requires an extension.
    """
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    running = asyncio.create_task(server.serve(sockets=[place.listener]))
    while not server.started and not running.done():
        await asyncio.sleep(0.01)
    ready = {"url": place.here, "grpc": place.grpc_here, "peer": peer, "strict": strict}
    print("ready", json.dumps(ready), flush=True)
    await running


def keep(contents):
    """Writes the files of a message to `in` of the directory PEER_FILES, each named by its place."""
    place = Path(os.environ["PEER_FILES"]) / "in"
    place.mkdir(exist_ok=True)
    for number, content in enumerate(contents):
        (place / f"{number:03}").write_bytes(content)


def give():
    """The contents of the files in `out` of that directory."""
    return [file.read_bytes() for file in sorted((Path(os.environ["PEER_FILES"]) / "out").iterdir())]


def first_word(text):
    return (text.split() or [""])[0]


async def chunks(text):
    """The pieces of an answer that comes in pieces: each with its number, and whether it is the last."""
    slow = first_word(text) == "slow"
    pieces = SLOW if slow else STREAMED
    for number, piece in enumerate(pieces):
        yield piece, number > 0, number == len(pieces) - 1
        if slow:
            await asyncio.sleep(SLOW_SECONDS)
