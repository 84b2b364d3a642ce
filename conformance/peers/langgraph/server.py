"""A LangGraph server with the agent of graphs.py: see conformance/README.md."""

import json
import os
import socket
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from importlib.metadata import version
from pathlib import Path

GRAPHS = Path(__file__).resolve().parent / "graphs.py"
# How the server names the assistant it makes for a graph.
ASSISTANTS = uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
START_SECONDS = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def tell_when_ready(url):
    """Says so once it can be called; it may have taken another port, and then it never is."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/ok", timeout=5) as answer:
                if answer.status == 200:
                    agent = f"{url}/a2a/{uuid.uuid5(ASSISTANTS, 'peer')}"
                    told = {"url": agent, "base": url, "peer": f"langgraph {version('langgraph-api')}"}
                    print("ready", json.dumps(told), flush=True)
                    return
        except OSError:
            time.sleep(0.05)
    print(f"not ready after {START_SECONDS} s", file=sys.stderr, flush=True)
    os._exit(1)


def main():
    # No reports to anyone, and nothing left behind.
    os.environ.update(LANGGRAPH_CLI_NO_ANALYTICS="1", LANGGRAPH_NO_VERSION_CHECK="true", LANGSMITH_TRACING="false")
    from langgraph_api.cli import run_server

    port = free_port()
    # 0.6 does not start without its files.
    forgets = not version("langgraph-api").startswith("0.6.")
    threading.Thread(target=tell_when_ready, args=[f"http://127.0.0.1:{port}"], daemon=True).start()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        run_server(host="127.0.0.1", port=port, reload=False, open_browser=False, n_jobs_per_worker=10,
                   graphs={"peer": f"{GRAPHS}:peer"}, disable_persistence=forgets)


if __name__ == "__main__":
    main()
