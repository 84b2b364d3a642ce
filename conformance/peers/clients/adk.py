"""google-adk's RemoteA2aAgent against an agent, one cell a line: see conformance/README.md.

It is driven as ADK users drive it, by a runner with a session, and has no calls for single operations.
"""

import asyncio
import logging
import warnings
from importlib.metadata import version

import rows
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from rows import same, want

USER = "user"


class Column:
    def __init__(self, options):
        self.options = options

    async def session(self):
        """A conversation with the agent: a function that says something and returns all events of the turn."""
        card = f"{self.options.url}/.well-known/agent-card.json"
        agent = RemoteA2aAgent(name="peer", agent_card=card)
        sessions = InMemorySessionService()
        runner = Runner(agent=agent, app_name="rows", session_service=sessions)
        session = await sessions.create_session(app_name="rows", user_id=USER)

        async def say(words):
            message = types.Content(role="user", parts=[types.Part(text=words)])
            events = runner.run_async(user_id=USER, session_id=session.id, new_message=message)
            return [event async for event in events]

        return say

    async def ask(self, words):
        return await (await self.session())(words)

    async def card(self):
        """The card is read and validated before the first message is sent."""
        same(failures(await self.ask("hello")), [], "the failures")

    async def send_task(self):
        want("echo: hello world" in said(await self.ask("hello world")), "the answer is missing")

    async def send_message(self):
        want("echo: msg hi" in said(await self.ask("msg hi")), "the answer is missing")

    async def failure(self):
        events = await self.ask("fail")
        want("it failed" in said(events) + "".join(failures(events)), f"nothing says that it failed: {events!r}")

    async def stream(self):
        same(whole(await self.ask("stream")), rows.STREAMED, "the answer")

    async def input_required(self):
        say = await self.session()
        question = await say("input")
        want("which colour?" in said(question), f"the question is missing: {question!r}")
        want("you chose green" in said(await say("green")), "the answer did not reach the task")


def texts(event):
    return [part.text for part in (event.content.parts if event.content else None) or [] if part.text]


def said(events):
    return "\n".join(text for event in events for text in texts(event))


def whole(events):
    """The answer as ADK shows it: the pieces of a stream, and then the whole once more where it says so."""
    pieces = "".join(text for event in events if event.partial for text in texts(event))
    final = ["".join(texts(event)) for event in events if not event.partial and texts(event)]
    return final[-1] if final else pieces


def failures(events):
    return [event.error_message for event in events if event.error_message]


async def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    await rows.run(f"adk {version('google-adk')}", rows.arguments(), Column(rows.arguments()))


asyncio.run(main())
