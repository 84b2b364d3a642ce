"""Sends and reads files with the client of the Python SDK 0.2.16: see conformance/README.md."""

import asyncio
import base64
import uuid
from urllib.parse import urlsplit

import corpus
import grpc.aio
import httpx
from a2a.client import A2ACardResolver, A2AClient, A2AGrpcClient
from a2a.grpc.a2a_pb2_grpc import A2AServiceStub
from a2a.types import (
    FilePart, FileWithBytes, GetTaskRequest, Message, MessageSendConfiguration, MessageSendParams, Part, Role,
    SendMessageRequest, SendStreamingMessageRequest, TaskArtifactUpdateEvent, TaskQueryParams, TextPart,
)


def params(contents):
    files = [FilePart(file=FileWithBytes(bytes=base64.b64encode(content).decode(), mime_type=corpus.MEDIA_TYPE))
             for content in contents]
    parts = [Part(root=part) for part in [TextPart(text="file"), *files]]
    message = Message(role=Role.user, message_id=str(uuid.uuid4()), parts=parts)
    configuration = MessageSendConfiguration(accepted_output_modes=[], blocking=True)
    return MessageSendParams(message=message, configuration=configuration)


def contents_of(artifacts):
    return [base64.b64decode(part.root.file.bytes) for artifact in artifacts for part in artifact.parts]


class OverJsonRpc:
    def __init__(self, http, card):
        self.client = A2AClient(http, card)

    async def send(self, params):
        answer = await self.client.send_message(SendMessageRequest(id="1", params=params))
        return answer.root.result

    async def get(self, task):
        answer = await self.client.get_task(GetTaskRequest(id="2", params=TaskQueryParams(id=task)))
        return answer.root.result

    async def stream(self, params):
        async for item in self.client.send_message_streaming(SendStreamingMessageRequest(id="3", params=params)):
            yield item.root.result


class OverGrpc:
    def __init__(self, channel, card):
        self.client = A2AGrpcClient(A2AServiceStub(channel), card)

    async def send(self, params):
        return await self.client.send_message(params)

    async def get(self, task):
        return await self.client.get_task(TaskQueryParams(id=task))

    def stream(self, params):
        return self.client.send_message_streaming(params)


async def exchange(options, over):
    contents = corpus.read(options)
    task = await over.send(params(contents))
    corpus.sent(task.id)
    corpus.write(options, "answered", contents_of(task.artifacts))
    corpus.write(options, "got", contents_of((await over.get(options.task)).artifacts))
    events = [event async for event in over.stream(params(contents))]
    updates = [event.artifact for event in events if isinstance(event, TaskArtifactUpdateEvent)]
    corpus.write(options, "streamed", contents_of(updates))


async def main():
    options = corpus.arguments()
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, options.url).get_agent_card()
        if options.binding == "grpc":
            async with grpc.aio.insecure_channel(urlsplit(options.url).netloc) as channel:
                await exchange(options, OverGrpc(channel, card))
        else:
            await exchange(options, OverJsonRpc(http, card))


if __name__ == "__main__":
    asyncio.run(main())
