"""The A2AAgent of strands-agents against an agent, one cell a line: see conformance/README.md."""

import asyncio
import logging
import warnings
from importlib.metadata import version

import rows
from rows import same, want
from strands.agent.a2a_agent import A2AAgent


class Column:
    def __init__(self, options):
        self.options = options

    async def ask(self, words):
        """The result of a call: its text, and why it stopped."""
        result = await A2AAgent(endpoint=self.options.url).invoke_async(words)
        return "".join(block.get("text", "") for block in result.message["content"]), result.stop_reason

    async def card(self):
        card = await A2AAgent(endpoint=self.options.url).get_agent_card()
        same(card.name, "Peer", "the name")
        same([skill.id for skill in card.skills], ["words"], "the skills")

    async def send_task(self):
        text, _ = await self.ask("hello world")
        same(text, "echo: hello world", "the answer")

    async def send_message(self):
        text, _ = await self.ask("msg hi")
        same(text, "echo: msg hi", "the answer")

    async def failure(self):
        text, _ = await self.ask("fail")
        want("it failed" in text, f"nothing says that it failed: {text!r}")

    async def stream(self):
        text, _ = await self.ask("stream")
        same(text, rows.STREAMED, "the answer")

    async def input_required(self):
        text, reason = await self.ask("input")
        want("which colour?" in text, f"the question is missing: {text!r}")
        same(reason, "interrupt", "why it stopped")
        raise rows.NoCall("it asks, but the client cannot name a task to answer it")


async def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    await rows.run(f"strands {version('strands-agents')}", rows.arguments(), Column(rows.arguments()))


asyncio.run(main())
