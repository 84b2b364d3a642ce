"""The client of the Python SDK 0.3.26 against an agent, one cell a line: see conformance/README.md."""

import asyncio
import base64
import uuid
from importlib.metadata import version
from urllib.parse import urlsplit

import grpc.aio
import httpx
import rows
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError, A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import (
    DataPart, FilePart, FileWithBytes, FileWithUri, GetTaskPushNotificationConfigParams, Message,
    MessageSendConfiguration, Part, PushNotificationConfig, Role, Task, TaskIdParams, TaskPushNotificationConfig,
    TaskQueryParams, TaskState, TextPart,
)
from rows import Proxy, Receiver, same, want

BINDINGS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}
OVER = (TaskState.completed, TaskState.failed, TaskState.canceled)

# How each binding says it: the number, the HTTP status, the gRPC status.
NOT_FOUND = (-32001, 404, "NOT_FOUND")
NOT_CANCELABLE = (-32002, 409, "FAILED_PRECONDITION")
UNSUPPORTED = (-32004, 501, "UNIMPLEMENTED")
BAD_PARAMS = (-32602, 400, "INVALID_ARGUMENT")
FORBIDDEN = (-32603, 403, "PERMISSION_DENIED")
EXTENSION_REQUIRED = (-32008, 400, "FAILED_PRECONDITION")
BAD_VERSION = (-32009, 400, "FAILED_PRECONDITION")


def message(*parts, task=None):
    parts = [Part(root=TextPart(text=part) if isinstance(part, str) else part) for part in parts]
    ids = {"task_id": task.id, "context_id": task.context_id} if task else {}
    return Message(role=Role.user, message_id=str(uuid.uuid4()), parts=parts, **ids)


def texts(parts):
    return "".join(part.root.text for part in parts)


def answer(task):
    """All texts of all artifacts."""
    return "".join(texts(artifact.parts) for artifact in task.artifacts or [])


def headers(**values):
    named = {name.replace("_", "-"): value for name, value in values.items()}
    return ClientCallContext(state={"http_kwargs": {"headers": named}})


class Column:
    def __init__(self, http, options):
        self.http, self.options = http, options
        self.binding = BINDINGS[options.binding]
        self.cards = {}

    async def get_card(self, url):
        if url not in self.cards:
            card = await A2ACardResolver(self.http, url).get_agent_card()
            offered = [card.preferred_transport, *(i.transport for i in card.additional_interfaces or [])]
            if self.binding not in offered:
                raise rows.NotOffered(f"the card offers no {self.binding} 0.3")
            self.cards[url] = card
        return self.cards[url]

    async def client(self, streaming=False, url=None, webhooks=()):
        config = ClientConfig(streaming=streaming, httpx_client=self.http, supported_transports=[self.binding],
                              grpc_channel_factory=grpc.aio.insecure_channel,
                              push_notification_configs=list(webhooks))
        return ClientFactory(config).create(await self.get_card(url or self.options.url))

    async def send(self, *parts, task=None, at_once=False, webhooks=()):
        """A call that waits; the task."""
        client = await self.client(webhooks=webhooks)
        configuration = MessageSendConfiguration(blocking=not at_once)
        calls = client.send_message(message(*parts, task=task), configuration=configuration)
        events = [event async for event in calls]
        same(len(events), 1, "the number of answers")
        want(isinstance(events[0], tuple), f"the answer is no task but {events[0]!r}")
        return events[0][0]

    async def streamed(self, events):
        """What the SDK makes of a stream: its last task, and how many artifact updates there were."""
        task, chunks = None, 0
        async for task, update in events:
            chunks += getattr(update, "kind", "") == "artifact-update"
        want(task is not None, "there was no event")
        same(task.status.state, TaskState.completed, "the last state")
        return task, chunks

    async def refused(self, calls, how):
        """A call, or the reading of a stream, that must fail in this way."""
        number, status, name = how
        try:
            if hasattr(calls, "__aiter__"):
                result = [event async for event in calls]
            else:
                result = await calls
        except A2AClientJSONRPCError as error:
            same(error.error.code, number, f"the number of {error}")
        except A2AClientHTTPError as error:
            same(error.status_code, status, f"the status of {error}")
        except grpc.aio.AioRpcError as error:
            same(error.code().name, name, f"the status of {error.details()}")
        else:
            raise AssertionError(f"it was not refused: {result!r}"[:300])

    async def card(self):
        card = await self.get_card(self.options.url)
        same(card.name, "Peer", "the name")
        want(card.capabilities.streaming and card.capabilities.push_notifications, "a capability is missing")
        same([skill.id for skill in card.skills], ["words"], "the skills")

    async def send_task(self):
        task = await self.send("hello world")
        same(task.status.state, TaskState.completed, "the state")
        same(answer(task), "echo: hello world", "the answer")
        want(task.id and task.context_id, "an id is missing")

    async def send_message(self):
        events = [event async for event in (await self.client()).send_message(message("msg hi"))]
        same([type(event) for event in events], [Message], "the answer")
        same(texts(events[0].parts), "echo: msg hi", "the text")
        same(events[0].role, Role.agent, "the role")

    async def two_parts(self):
        same(answer(await self.send("hello", "there")), "echo: hello\nthere", "the answer")

    async def file(self):
        encoded = base64.b64encode(b"\x00\x01\xfe\xff").decode()
        sent = [
            FileWithBytes(bytes=encoded, name="four.bin", mime_type="application/octet-stream"),
            FileWithUri(uri="https://example.com/a.txt", name="a.txt", mime_type="text/plain"),
        ]
        task = await self.send("file", *(FilePart(file=file) for file in sent))
        # The .proto file of 0.3 has no name of a file, so ProtoJSON of ours has none.
        named = self.options.binding != "rest"
        wanted = [file.model_copy(update={"name": file.name if named else None}) for file in sent]
        same([part.root.file for artifact in task.artifacts for part in artifact.parts], wanted, "the files")

    async def data(self):
        value = {"n": 5, "half": 0.5, "list": [1, "x", None], "deep": {"yes": True}}
        task = await self.send("data", DataPart(data=value))
        same(task.artifacts[0].parts[0].root.data, value, "the data")

    async def failure(self):
        task = await self.send("fail")
        same(task.status.state, TaskState.failed, "the state")
        same(texts(task.status.message.parts), "it failed", "the reason")

    async def return_at_once(self):
        task = await self.send("long", at_once=True)
        want(task.status.state not in OVER, f"it is over: {task.status.state}")

    async def stream(self):
        client = await self.client(streaming=True)
        task, chunks = await self.streamed(client.send_message(message("stream")))
        same(answer(task), rows.STREAMED, "the answer")
        same(chunks, 3, "the number of chunks")

    async def stream_message(self):
        client = await self.client(streaming=True)
        events = [event async for event in client.send_message(message("msg hi"))]
        same([type(event) for event in events], [Message], "the answer")

    async def subscribe(self):
        begun = await self.send("slow", at_once=True)
        client = await self.client(streaming=True)
        task, _ = await self.streamed(client.resubscribe(TaskIdParams(id=begun.id)))
        same(answer(task), rows.SLOW, "the answer")

    async def subscribe_after_cut(self):
        there = urlsplit(self.options.url)
        async with Proxy(there.hostname, there.port) as proxy:
            url = there._replace(netloc=f"127.0.0.1:{proxy.port_here}").geturl()
            begun, seen = None, 0
            try:
                async for begun, _ in (await self.client(streaming=True, url=url)).send_message(message("slow")):
                    seen += 1
                    if seen == 5:
                        proxy.cut()
            except (A2AClientError, grpc.aio.AioRpcError):
                pass
            want(begun.status.state not in OVER, "the stream was not cut")
            client = await self.client(streaming=True, url=url)
            task, _ = await self.streamed(client.resubscribe(TaskIdParams(id=begun.id)))
            same(answer(task), rows.SLOW, "the answer")

    async def input_required(self):
        await self.converse()

    async def converse(self):
        task = await self.send("input")
        same(task.status.state, TaskState.input_required, "the state")
        same(texts(task.status.message.parts), "which colour?", "the question")
        done = await self.send("blue", task=task)
        same(done.id, task.id, "the task")
        same(done.status.state, TaskState.completed, "the state")
        same(answer(done), "you chose blue", "the answer")
        return done

    async def cancel(self):
        task = await self.send("long", at_once=True)
        client = await self.client()
        canceled = await client.cancel_task(TaskIdParams(id=task.id))
        same(canceled.status.state, TaskState.canceled, "the state")
        found = await client.get_task(TaskQueryParams(id=task.id))
        same(found.status.state, TaskState.canceled, "the state that is kept")

    async def get_history(self):
        done, client = await self.converse(), await self.client()
        whole = await client.get_task(TaskQueryParams(id=done.id))
        said = [texts(message.parts) for message in whole.history if message.role == Role.user]
        same(said, ["input", "blue"], "what the user said")
        last = await client.get_task(TaskQueryParams(id=done.id, history_length=1))
        same(last.history, whole.history[-1:], "the history of length 1")

    async def push_configs(self):
        task, client = await self.send("long", at_once=True), await self.client()
        config = PushNotificationConfig(id="mine", url="http://127.0.0.1:1/hook", token=rows.TOKEN)
        made = await client.set_task_callback(TaskPushNotificationConfig(task_id=task.id, push_notification_config=config))
        same((made.task_id, made.push_notification_config.id), (task.id, "mine"), "what was made")
        found = await client.get_task_callback(
            GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="mine"))
        same(found.push_notification_config.url, config.url, "what was found")
        await client.cancel_task(TaskIdParams(id=task.id))
        return "set and get: the SDK has no more"

    async def push_delivered(self):
        async with Receiver() as receiver:
            webhook = PushNotificationConfig(url=receiver.url, token=rows.TOKEN)
            begun = await self.send("stream", at_once=True, webhooks=[webhook])
            received = await receiver.until(lambda body: body["status"]["state"] == "completed")
            task = Task.model_validate(received[-1][1])
            same((task.id, answer(task)), (begun.id, rows.STREAMED), "the task")
            for sent, _ in received:
                same(sent.get("x-a2a-notification-token"), rows.TOKEN, "the token")

    async def extended_card(self):
        # It is for those who are known, and nobody is known here.
        await self.refused((await self.client()).get_card(), FORBIDDEN)
        return "refused, as it must be"

    async def task_not_found(self):
        client, missing = await self.client(), str(uuid.uuid4())
        await self.refused(client.get_task(TaskQueryParams(id=missing)), NOT_FOUND)
        await self.refused(client.cancel_task(TaskIdParams(id=missing)), NOT_FOUND)
        streaming = await self.client(streaming=True)
        await self.refused(streaming.resubscribe(TaskIdParams(id=missing)), NOT_FOUND)

    async def not_cancelable(self):
        task = await self.send("hello")
        await self.refused((await self.client()).cancel_task(TaskIdParams(id=task.id)), NOT_CANCELABLE)

    async def terminal_refused(self):
        task = await self.send("hello")
        await self.refused((await self.client()).send_message(message("more", task=task)), UNSUPPORTED)

    async def bad_params(self):
        await self.refused((await self.client()).send_message(message()), BAD_PARAMS)
        await self.refused((await self.client(streaming=True)).send_message(message()), BAD_PARAMS)

    async def unknown_version(self):
        if self.options.binding == "grpc":
            raise rows.NoCall("the SDK has no way to say a version")
        client = await self.client()
        call = client.get_task(TaskQueryParams(id="any"), context=headers(A2A_Version="7.0"))
        await self.refused(call, BAD_VERSION)

    async def required_extension(self):
        client = await self.client(url=self.options.strict_url)
        await self.refused(client.send_message(message("hello")), EXTENSION_REQUIRED)
        events = [event async for event in client.send_message(message("hello"), extensions=[rows.EXTENSION])]
        same(answer(events[0][0]), "echo: hello", "the answer")


async def main():
    options = rows.arguments()
    async with httpx.AsyncClient(timeout=rows.ROW_SECONDS) as http:
        await rows.run(f"python {version('a2a-sdk')}", options, Column(http, options))


if __name__ == "__main__":
    asyncio.run(main())
