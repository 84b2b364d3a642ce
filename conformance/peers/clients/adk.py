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

        async def say(part):
            part = types.Part(text=part) if isinstance(part, str) else part
            message = types.Content(role="user", parts=[part])
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
        # As pieces, and by some versions as a whole after them.
        pieces = "".join(text for event in await self.ask("stream") for text in texts(event))
        want(rows.STREAMED in pieces, f"the answer is {pieces!r}")

    async def input_required(self):
        say = await self.session()
        calls = [call for event in await say("input") for call in event.get_function_calls()]
        want(calls and "which colour?" in str(calls[-1].args), f"the question is missing: {calls!r}")
        # A question is a function call in ADK, and its answer the function's response.
        answer = types.FunctionResponse(id=calls[-1].id, name=calls[-1].name, response={"result": "green"})
        said_then = said(await say(types.Part(function_response=answer)))
        want("you chose green" in said_then, f"the answer did not reach the task: {said_then!r}")


def texts(event):
    return [part.text for part in (event.content.parts if event.content else None) or [] if part.text]


def said(events):
    return "\n".join(text for event in events for text in texts(event))


def failures(events):
    return [event.error_message for event in events if event.error_message]


async def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    await rows.run(f"adk {version('google-adk')}", rows.arguments(), Column(rows.arguments()))


asyncio.run(main())
