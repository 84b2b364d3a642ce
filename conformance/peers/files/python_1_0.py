"""Sends and reads files with the client of the Python SDK 1.3.0, in 1.0 and 0.3: see conformance/README.md."""

import asyncio
import uuid

import corpus
import grpc.aio
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import GetTaskRequest, Message, Part, Role, SendMessageRequest

BINDINGS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}


def ask(contents):
    parts = [Part(text="file"), *(Part(raw=content, media_type=corpus.MEDIA_TYPE) for content in contents)]
    return SendMessageRequest(message=Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=parts))


def contents_of(artifacts):
    for artifact in artifacts:
        for part in artifact.parts:
            assert part.WhichOneof("content") == "raw", part
            yield part.raw


def channel(address):
    return grpc.aio.insecure_channel(address.split("://")[-1])


async def main():
    options = corpus.arguments()
    contents = corpus.read(options)
    binding = BINDINGS[options.binding]
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, options.url).get_agent_card()
        # The SDK prefers 1.0: for the older version it gets a card without it.
        kept = [i for i in card.supported_interfaces
                if i.protocol_binding == binding and i.protocol_version.startswith(options.version)]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)

        def client(streaming):
            config = ClientConfig(streaming=streaming, httpx_client=http, grpc_channel_factory=channel,
                                  supported_protocol_bindings=[binding])
            return ClientFactory(config).create(card)

        [event] = [event async for event in client(False).send_message(ask(contents))]
        corpus.sent(event.task.id)
        corpus.write(options, "answered", contents_of(event.task.artifacts))
        task = await client(False).get_task(GetTaskRequest(id=options.task))
        corpus.write(options, "got", contents_of(task.artifacts))
        events = [event async for event in client(True).send_message(ask(contents))]
        updates = [event.artifact_update.artifact for event in events
                   if event.WhichOneof("payload") == "artifact_update"]
        corpus.write(options, "streamed", contents_of(updates))


if __name__ == "__main__":
    asyncio.run(main())
