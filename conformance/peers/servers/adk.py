"""An agent made with google-adk and served by its `to_a2a`: see conformance/README.md."""

import asyncio
import logging
import warnings
from importlib.metadata import version

import grpc.aio
import serving
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai import types


class Peer(BaseAgent):
    async def _run_async_impl(self, context):
        said = context.user_content.parts if context.user_content else []
        text = "\n".join(part.text for part in said if part.text)
        word = serving.first_word(text)
        if word == "fail":
            raise RuntimeError("it failed")
        if word == "long":
            await asyncio.sleep(serving.LONG_SECONDS)
        if word in ("stream", "slow"):
            whole = ""
            async for piece, _, _ in serving.chunks(text):
                whole += piece
                yield self.event(context, [types.Part(text=piece)], partial=True)
            yield self.event(context, [types.Part(text=whole)])
        elif word in ("file", "data"):
            yield self.event(context, [part for part in said if not part.text])
        else:
            yield self.event(context, [types.Part(text="echo: " + text)])

    def event(self, context, parts, partial=None):
        return Event(author=self.name, invocation_id=context.invocation_id, partial=partial,
                     content=types.Content(role="model", parts=parts))


async def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    # It has no gRPC; the place wants a server for it all the same.
    place = serving.Place(grpc.aio.server())
    host, port = place.url.removeprefix("http://").split(":")
    app = to_a2a(Peer(name="peer", description=serving.DESCRIPTION), host=host, port=int(port))
    await serving.serve(app, place, f"adk {version('google-adk')}", strict=False)


if __name__ == "__main__":
    asyncio.run(main())
