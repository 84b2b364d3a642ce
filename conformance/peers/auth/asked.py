"""What the scripts beside this are told, and what they have to show."""

import argparse
import os


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True, help="the address of the agent")
    parser.add_argument("--binding", required=True, choices=["JSONRPC", "HTTP+JSON", "GRPC"])
    parser.add_argument("--version", required=True, choices=["0.3", "1.0"])
    parser.add_argument("--scheme", required=True, help="the scheme to use, by its name on the card")
    asked = parser.parse_args()
    asked.credential = os.environ["CREDENTIAL"]
    return asked


async def refused(events):
    """The error that a call without credentials ends with."""
    try:
        answer = [event async for event in events]
    except Exception as error:  # noqa: BLE001: each SDK has its own
        return f"{type(error).__name__}: {error}"
    raise AssertionError(f"it was not refused: {answer!r}"[:300])


def check_refusal(said):
    assert any(word in said for word in ("401", "UNAUTHENTICATED", "authentication required")), said
