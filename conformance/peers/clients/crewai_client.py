"""CrewAI's delegation to A2A agents against an agent, one cell a line: see conformance/README.md."""

import asyncio
import logging
import os
import sys
import warnings
from importlib.metadata import version

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true",
                  CREWAI_DISABLE_TRACKING="true")

import rows  # noqa: E402
from crewai.a2a.utils.agent_card import afetch_agent_card  # noqa: E402
from crewai.a2a.utils.delegation import aexecute_a2a_delegation  # noqa: E402
from rows import same, want  # noqa: E402

TIMEOUT = 20


class Column:
    def __init__(self, options):
        self.options = options

    async def ask(self, words, **how):
        return await aexecute_a2a_delegation(endpoint=self.options.url, auth=None, timeout=TIMEOUT,
                                             task_description=words, **how)

    async def card(self):
        card = await afetch_agent_card(endpoint=f"{self.options.url}/.well-known/agent-card.json", timeout=TIMEOUT)
        same(card.name, "Peer", "the name")
        same([skill.id for skill in card.skills], ["words"], "the skills")

    async def send_task(self):
        result = await self.ask("hello world")
        same(result.get("result"), "echo: hello world", f"the result of {result!r}")

    async def send_message(self):
        result = await self.ask("msg hi")
        same(result.get("result"), "echo: msg hi", f"the result of {result!r}")

    async def failure(self):
        result = await self.ask("fail")
        want("it failed" in str(result.get("error")), f"nothing says that it failed: {result!r}")

    async def stream(self):
        same((await self.ask("stream")).get("result"), rows.STREAMED, "the result")

    async def input_required(self):
        result = await self.ask("input")
        history = result.get("history") or []
        want("which colour?" in str(result), f"the question is missing: {result!r}")
        task = next((message for message in history if message.task_id), None)
        want(task, f"no message names the task: {result!r}")
        result = await self.ask("green", task_id=task.task_id, context_id=task.context_id)
        want("you chose green" in str(result.get("result")), f"the answer did not reach the task: {result!r}")


async def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    # CrewAI reports to people on standard output.
    cells, sys.stdout = sys.stdout, sys.stderr
    await rows.run(f"crewai {version('crewai')}", rows.arguments(), Column(rows.arguments()), cells)


asyncio.run(main())
