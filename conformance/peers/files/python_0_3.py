"""Sends and reads files with the client of the Python SDK 0.3.26: see conformance/README.md."""

import asyncio
import base64
import uuid

import corpus
import grpc.aio
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    FilePart, FileWithBytes, Message, Part, Role, TaskArtifactUpdateEvent, TaskQueryParams, TextPart,
)

BINDINGS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}


def message(contents):
    files = [FilePart(file=FileWithBytes(bytes=base64.b64encode(content).decode(), mime_type=corpus.MEDIA_TYPE))
             for content in contents]
    parts = [Part(root=part) for part in [TextPart(text="file"), *files]]
    return Message(role=Role.user, message_id=str(uuid.uuid4()), parts=parts)


def contents_of(artifacts):
    return [base64.b64decode(part.root.file.bytes) for artifact in artifacts for part in artifact.parts]


def channel(address):
    return grpc.aio.insecure_channel(address.split("://")[-1])


async def main():
    options = corpus.arguments()
    contents = corpus.read(options)
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, options.url).get_agent_card()

        def client(streaming):
            config = ClientConfig(streaming=streaming, httpx_client=http, grpc_channel_factory=channel,
                                  supported_transports=[BINDINGS[options.binding]])
            return ClientFactory(config).create(card)

        [(task, _)] = [event async for event in client(False).send_message(message(contents))]
        corpus.sent(task.id)
        corpus.write(options, "answered", contents_of(task.artifacts))
        task = await client(False).get_task(TaskQueryParams(id=options.task))
        corpus.write(options, "got", contents_of(task.artifacts))
        updates = [update async for _, update in client(True).send_message(message(contents))]
        artifacts = [update.artifact for update in updates if isinstance(update, TaskArtifactUpdateEvent)]
        corpus.write(options, "streamed", contents_of(artifacts))


if __name__ == "__main__":
    asyncio.run(main())
