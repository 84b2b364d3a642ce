"""Reads our cards as the Python SDK 1.3.0 does, one line for each address: `good`, or what is wrong.

    python_1_0.py --strict URL ... --lenient URL ...

Strict: by the messages that the SDK has generated from the protobuf file, where an unknown member is an error.
Lenient: by the SDK's own reader, which also takes cards of 0.3.
"""

import argparse
import json
import urllib.request

from a2a.client.card_resolver import parse_agent_card
from a2a.types import AgentCard
from google.protobuf import json_format


def read(url):
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def strict(card):
    return json_format.ParseDict(card, AgentCard())


def check(parse, url):
    try:
        card = parse(read(url))
        assert card.name and card.supported_interfaces, "the card has no name or no interface"
        for skill in card.skills:
            assert skill.input_modes and skill.output_modes, f"the skill {skill.id} has no modes"
    except Exception as error:  # noqa: BLE001 whatever the reader raises is the finding
        return f"{url}: {error}"
    return "good"


options = argparse.ArgumentParser()
options.add_argument("--strict", nargs="*", default=[])
options.add_argument("--lenient", nargs="*", default=[])
given = options.parse_args()
for address in given.strict:
    print(check(strict, address))
for address in given.lenient:
    print(check(parse_agent_card, address))
