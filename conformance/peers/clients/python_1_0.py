"""The client of the Python SDK 1.3.0 against an agent, one cell a line: see conformance/README.md."""

import asyncio
import uuid
from importlib.metadata import version
from urllib.parse import urlsplit

import grpc.aio
import httpx
import rows
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.compat.v0_3 import conversions, types as types_0_3
from a2a.types import (
    AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest,
    Message, Part, Role, SendMessageRequest, StreamResponse, SubscribeToTaskRequest, TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils import errors
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value
from rows import Proxy, Receiver, same, want

BINDINGS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}
OVER = (TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED)


def text(words):
    return Part(text=words)


def ask(*parts, task=None, context="", at_once=False, webhook=None):
    parts = [text(part) if isinstance(part, str) else part for part in parts]
    message = Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=parts, context_id=context)
    if task:
        message.task_id, message.context_id = task.id, task.context_id
    request = SendMessageRequest(message=message)
    request.configuration.return_immediately = at_once
    if webhook:
        request.configuration.task_push_notification_config.CopyFrom(webhook)
    return request


def answer(task):
    """All texts of all artifacts."""
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


class Fold:
    """A task as the events of a stream make it."""

    def __init__(self):
        self.kinds, self.task = [], None

    def add(self, event):
        kind = event.WhichOneof("payload")
        self.kinds.append(kind)
        if kind == "task":
            self.task = event.task
        elif kind == "status_update":
            self.task.status.CopyFrom(event.status_update.status)
        elif kind == "artifact_update":
            update = event.artifact_update
            known = [a for a in self.task.artifacts if a.artifact_id == update.artifact.artifact_id]
            if not update.append:
                for artifact in known:
                    self.task.artifacts.remove(artifact)
                self.task.artifacts.append(update.artifact)
            else:
                want(known, "a chunk was appended to nothing")
                known[0].parts.extend(update.artifact.parts)

    def check(self, wanted):
        want(self.task is not None, f"there was no task in {self.kinds}")
        same(self.task.status.state, TaskState.TASK_STATE_COMPLETED, "the last state")
        same(answer(self.task), wanted, "the answer")


class Column:
    def __init__(self, http, options):
        self.http, self.options = http, options
        self.binding = BINDINGS[options.binding]
        self.cards = {}

    async def get_card(self, url):
        if url not in self.cards:
            card = await A2ACardResolver(self.http, url).get_agent_card()
            # The SDK prefers 1.0: for the older version it gets a card without it.
            kept = [i for i in card.supported_interfaces if i.protocol_binding == self.binding
                    and i.protocol_version.startswith(self.options.version)]
            if not kept:
                raise rows.NotOffered(f"the card offers no {self.binding} {self.options.version}")
            del card.supported_interfaces[:]
            card.supported_interfaces.extend(kept)
            self.cards[url] = card
        return self.cards[url]

    async def client(self, streaming=False, url=None):
        card = AgentCard()
        card.CopyFrom(await self.get_card(url or self.options.url))
        config = ClientConfig(streaming=streaming, httpx_client=self.http, supported_protocol_bindings=[self.binding],
                              grpc_channel_factory=grpc.aio.insecure_channel)
        return ClientFactory(config).create(card)

    async def send(self, *parts, **how):
        """A call that waits; the task."""
        client = await self.client()
        events = [event async for event in client.send_message(ask(*parts, **how))]
        same([event.WhichOneof("payload") for event in events], ["task"], "the answer")
        return events[0].task

    async def refused(self, calls, kind):
        """A call, or the reading of a stream, that must fail in this way."""
        try:
            if hasattr(calls, "__aiter__"):
                result = [event async for event in calls]
            else:
                result = await calls
        except kind:
            return
        raise AssertionError(f"it was not refused: {result!r}"[:300])

    async def card(self):
        card = await self.get_card(self.options.url)
        same(card.name, "Peer", "the name")
        want(card.capabilities.streaming and card.capabilities.push_notifications, "a capability is missing")
        same([skill.id for skill in card.skills], ["words"], "the skills")

    async def send_task(self):
        task = await self.send("hello world")
        same(task.status.state, TaskState.TASK_STATE_COMPLETED, "the state")
        same(answer(task), "echo: hello world", "the answer")
        want(task.id and task.context_id, "an id is missing")

    async def send_message(self):
        events = [event async for event in (await self.client()).send_message(ask("msg hi"))]
        same([event.WhichOneof("payload") for event in events], ["message"], "the answer")
        message = events[0].message
        same(message.parts[0].text, "echo: msg hi", "the text")
        same(message.role, Role.ROLE_AGENT, "the role")

    async def two_parts(self):
        same(answer(await self.send("hello", "there")), "echo: hello\nthere", "the answer")

    async def file(self):
        bytes_ = Part(raw=b"\x00\x01\xfe\xff", filename="four.bin", media_type="application/octet-stream")
        link = Part(url="https://example.com/a.txt", filename="a.txt", media_type="text/plain")
        task = await self.send("file", bytes_, link)
        if (self.options.binding, self.options.version) == ("rest", "0.3"):
            # The .proto file of 0.3 has no name of a file, so ProtoJSON of ours has none.
            bytes_.filename = link.filename = ""
        same([part for artifact in task.artifacts for part in artifact.parts], [bytes_, link], "the parts")

    async def data(self):
        value = {"n": 5, "half": 0.5, "list": [1, "x", None], "deep": {"yes": True}}
        task = await self.send("data", Part(data=ParseDict(value, Value()), media_type="application/json"))
        same(MessageToDict(task.artifacts[0].parts[0].data), value, "the data")

    async def failure(self):
        task = await self.send("fail")
        same(task.status.state, TaskState.TASK_STATE_FAILED, "the state")
        same(task.status.message.parts[0].text, "it failed", "the reason")

    async def return_at_once(self):
        task = await self.send("long", at_once=True)
        want(task.status.state not in OVER, f"it is over: {task.status.state}")

    async def stream(self):
        fold = Fold()
        async for event in (await self.client(streaming=True)).send_message(ask("stream")):
            fold.add(event)
        fold.check(rows.STREAMED)
        same(fold.kinds.count("artifact_update"), 3, "the number of chunks")

    async def stream_message(self):
        client = await self.client(streaming=True)
        events = [event async for event in client.send_message(ask("msg hi"))]
        same([event.WhichOneof("payload") for event in events], ["message"], "the answer")

    async def subscribe(self):
        task = await self.send("slow", at_once=True)
        fold = Fold()
        async for event in (await self.client(streaming=True)).subscribe(SubscribeToTaskRequest(id=task.id)):
            fold.add(event)
        fold.check(rows.SLOW)

    async def subscribe_after_cut(self):
        there = urlsplit(self.options.url)
        async with Proxy(there.hostname, there.port) as proxy:
            url = there._replace(netloc=f"127.0.0.1:{proxy.port_here}").geturl()
            fold = Fold()
            try:
                async for event in (await self.client(streaming=True, url=url)).send_message(ask("slow")):
                    fold.add(event)
                    if len(fold.kinds) == 5:
                        proxy.cut()
            except errors.A2AError:
                pass
            want(fold.task.status.state not in OVER, "the stream was not cut")
            client = await self.client(streaming=True, url=url)
            async for event in client.subscribe(SubscribeToTaskRequest(id=fold.task.id)):
                fold.add(event)
            fold.check(rows.SLOW)

    async def input_required(self):
        await self.converse()

    async def converse(self):
        task = await self.send("input")
        same(task.status.state, TaskState.TASK_STATE_INPUT_REQUIRED, "the state")
        same(task.status.message.parts[0].text, "which colour?", "the question")
        done = await self.send("blue", task=task)
        same(done.id, task.id, "the task")
        same(done.status.state, TaskState.TASK_STATE_COMPLETED, "the state")
        same(answer(done), "you chose blue", "the answer")
        return done

    async def cancel(self):
        task = await self.send("long", at_once=True)
        client = await self.client()
        canceled = await client.cancel_task(CancelTaskRequest(id=task.id))
        same(canceled.status.state, TaskState.TASK_STATE_CANCELED, "the state")
        found = await client.get_task(GetTaskRequest(id=task.id))
        same(found.status.state, TaskState.TASK_STATE_CANCELED, "the state that is kept")

    async def get_history(self):
        done, client = await self.converse(), await self.client()
        whole = await client.get_task(GetTaskRequest(id=done.id))
        said = [m.parts[0].text for m in whole.history if m.role == Role.ROLE_USER]
        same(said, ["input", "blue"], "what the user said")
        last = await client.get_task(GetTaskRequest(id=done.id, history_length=1))
        same(len(last.history), 1, "the history of length 1")
        same(last.history[0], whole.history[-1], "the last message")

    async def list(self):
        if self.options.version == "0.3":
            raise rows.NoCall("0.3 cannot list tasks")
        context, client = str(uuid.uuid4()), await self.client()
        made = [(await self.send("hello", context=context)).id for _ in range(3)]
        first = await client.list_tasks(ListTasksRequest(context_id=context, page_size=2))
        same((len(first.tasks), first.total_size), (2, 3), "the first page")
        want(first.next_page_token, "there is no second page")
        second = await client.list_tasks(
            ListTasksRequest(context_id=context, page_size=2, page_token=first.next_page_token))
        same(second.next_page_token, "", "the token of the last page")
        same(sorted(task.id for task in [*first.tasks, *second.tasks]), sorted(made), "the tasks")

    async def push_configs(self):
        task, client = await self.send("long", at_once=True), await self.client()
        hook = "http://127.0.0.1:1/hook"
        made = await client.create_task_push_notification_config(
            TaskPushNotificationConfig(task_id=task.id, id="mine", url=hook, token=rows.TOKEN))
        same((made.id, made.url), ("mine", hook), "what was made")
        one = GetTaskPushNotificationConfigRequest(task_id=task.id, id="mine")
        same((await client.get_task_push_notification_config(one)).url, hook, "what was found")
        if (self.options.binding, self.options.version) == ("rest", "0.3"):
            return "create and get: the SDK has no more"
        all_ = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        listed = await client.list_task_push_notification_configs(all_)
        same([config.id for config in listed.configs], ["mine"], "the list")
        await client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="mine"))
        same(len((await client.list_task_push_notification_configs(all_)).configs), 0, "the length after deletion")
        await client.cancel_task(CancelTaskRequest(id=task.id))

    async def push_delivered(self):
        async with Receiver() as receiver:
            webhook = TaskPushNotificationConfig(url=receiver.url, token=rows.TOKEN)
            task = await self.send("stream", at_once=True, webhook=webhook)
            if self.options.version == "1.0":
                state = ("statusUpdate", "status", "state")
                received = await receiver.until(lambda body: find(body, state) == "TASK_STATE_COMPLETED")
                fold = Fold()
                for _, body in received:
                    fold.add(ParseDict(body, StreamResponse()))
                fold.check(rows.STREAMED)
                same(fold.task.id, task.id, "the task")
            else:
                received = await receiver.until(lambda body: find(body, ("status", "state")) == "completed")
                done = conversions.to_core_task(types_0_3.Task.model_validate(received[-1][1]))
                same((done.id, answer(done)), (task.id, rows.STREAMED), "the task")
            for headers, _ in received:
                same(headers.get("x-a2a-notification-token"), rows.TOKEN, "the token")

    async def extended_card(self):
        # It is for those who are known, and nobody is known here.
        client, request = await self.client(), GetExtendedAgentCardRequest()
        await self.refused(client.get_extended_agent_card(request), errors.A2AError)

    async def task_not_found(self):
        client, missing = await self.client(), str(uuid.uuid4())
        await self.refused(client.get_task(GetTaskRequest(id=missing)), errors.TaskNotFoundError)
        await self.refused(client.cancel_task(CancelTaskRequest(id=missing)), errors.TaskNotFoundError)
        streaming = await self.client(streaming=True)
        await self.refused(streaming.subscribe(SubscribeToTaskRequest(id=missing)), errors.TaskNotFoundError)

    async def not_cancelable(self):
        task = await self.send("hello")
        client = await self.client()
        await self.refused(client.cancel_task(CancelTaskRequest(id=task.id)), errors.TaskNotCancelableError)

    async def terminal_refused(self):
        task = await self.send("hello")
        client, streaming = await self.client(), await self.client(streaming=True)
        await self.refused(client.send_message(ask("more", task=task)), errors.UnsupportedOperationError)
        await self.refused(streaming.subscribe(SubscribeToTaskRequest(id=task.id)), errors.UnsupportedOperationError)

    async def bad_params(self):
        client, streaming = await self.client(), await self.client(streaming=True)
        await self.refused(client.send_message(ask()), errors.InvalidParamsError)
        await self.refused(streaming.send_message(ask()), errors.InvalidParamsError)

    async def unknown_version(self):
        client, call = await self.client(), GetTaskRequest(id="any")
        if self.options.binding == "grpc":
            raise rows.NoCall("the SDK always says the version itself")
        if self.options.version == "1.0":
            context = ClientCallContext(service_parameters={"A2A-Version": "7.0"})
            await self.refused(client.get_task(call, context=context), errors.VersionNotSupportedError)
            return

        # In 0.3 the SDK says the version itself, so it is changed on its way out.
        async def change(request):
            request.headers["A2A-Version"] = "7.0"

        self.http.event_hooks["request"].append(change)
        try:
            await self.refused(client.get_task(call), errors.VersionNotSupportedError)
        finally:
            self.http.event_hooks["request"].remove(change)

    async def required_extension(self):
        client = await self.client(url=self.options.strict_url)
        await self.refused(client.send_message(ask("hello")), errors.ExtensionSupportRequiredError)
        wanted = ServiceParametersFactory.create([with_a2a_extensions([rows.EXTENSION])])
        context = ClientCallContext(service_parameters=wanted)
        events = [event async for event in client.send_message(ask("hello"), context=context)]
        same(answer(events[0].task), "echo: hello", "the answer")


def find(body, path):
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    return body


async def main():
    options = rows.arguments()
    async with httpx.AsyncClient(timeout=rows.ROW_SECONDS) as http:
        await rows.run(f"python {version('a2a-sdk')}", options, Column(http, options))


if __name__ == "__main__":
    asyncio.run(main())
