"""Reads our cards as the Python SDK 0.3.26 does, one line for each address: `good`, or what is wrong.

    python_0_3.py --strict URL ... --lenient URL ...

Strict: an unknown member is an error. Lenient: it is ignored, as the SDK does.
"""

import argparse
import json
import urllib.request

from a2a.types import AgentCard


class StrictCard(AgentCard):
    model_config = {**AgentCard.model_config, "extra": "forbid"}


def read(url):
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def check(model, url):
    try:
        card = model.model_validate(read(url))
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
    print(check(StrictCard, address))
for address in given.lenient:
    print(check(AgentCard, address))
