"""What the clients of the Python SDKs share: the files to send, and where to write those that come back."""

import argparse
import json
from pathlib import Path

MEDIA_TYPE = "application/octet-stream"


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True, help="the address of the agent")
    parser.add_argument("--binding", required=True, choices=["jsonrpc", "rest", "grpc"])
    parser.add_argument("--version", required=True, choices=["0.2", "0.3", "1.0"])
    parser.add_argument("--files", required=True, type=Path, help="the files to send")
    parser.add_argument("--out", required=True, type=Path, help="where to write what comes back")
    parser.add_argument("--task", required=True, help="a task with files as artifacts, to read")
    return parser.parse_args()


def read(options):
    """The contents of the files, in the order of their names."""
    return [file.read_bytes() for file in sorted(options.files.iterdir())]


def write(options, folder, contents):
    """Writes each content to a file named by its place."""
    place = options.out / folder
    place.mkdir(parents=True)
    for number, content in enumerate(contents):
        (place / f"{number:03}").write_bytes(content)


def sent(task_id):
    """Says under which task the files were sent."""
    print(json.dumps({"sent": task_id}), flush=True)
