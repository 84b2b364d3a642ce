"""An agent made with the Python SDK 0.3.26, over all bindings: see conformance/README.md."""

import asyncio
import base64
from importlib.metadata import version

import grpc.aio
import httpx
import serving
from a2a.grpc import a2a_pb2_grpc
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import (
    BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater,
)
from a2a.types import (
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill, FilePart, FileWithBytes, Part, TaskState,
    TextPart,
)
from a2a.utils import new_agent_text_message, new_task
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route


def text_part(text):
    return Part(root=TextPart(text=text))


def file_part(content):
    return Part(root=FilePart(file=FileWithBytes(bytes=base64.b64encode(content).decode())))


class Peer(AgentExecutor):
    async def execute(self, context, queue):
        text, task = context.get_user_input(), context.current_task
        word = serving.first_word(text)
        if word == "msg":
            await queue.enqueue_event(new_agent_text_message("echo: " + text, context.context_id))
            return
        if word == "raise":
            raise RuntimeError("the agent raised")
        answers = task is not None
        if not answers:
            task = new_task(context.message)
            await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task.id, task.context_id)
        await updater.start_work()
        await self.work(text, word, answers, updater, context)

    async def work(self, text, word, answers, updater, context):
        def say(words):
            return updater.new_agent_message([text_part(words)])

        parts = [text_part("echo: " + text)]
        if answers:
            parts = [text_part("you chose " + text)]
        elif word == "input":
            await updater.update_status(TaskState.input_required, say("which colour?"), final=True)
            return
        elif word == "fail":
            await updater.failed(say("it failed"))
            return
        elif word == "long":
            await asyncio.sleep(serving.LONG_SECONDS)
        elif word in ("stream", "slow"):
            async for piece, append, last in serving.chunks(text):
                await updater.add_artifact([text_part(piece)], artifact_id="answer", name="answer", append=append,
                                           last_chunk=last)
            await updater.complete()
            return
        elif word == "keep":
            files = [part.root.file for part in context.message.parts if part.root.kind == "file"]
            serving.keep(base64.b64decode(file.bytes) for file in files)
        elif word == "give":
            parts = [file_part(content) for content in serving.give()]
        elif word in ("file", "data"):
            parts = [part for part in context.message.parts if part.root.kind != "text"]
        await updater.add_artifact(parts, artifact_id="answer", name="answer")
        await updater.complete()

    async def cancel(self, context, queue):
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


def card(place, description=serving.DESCRIPTION, extensions=None):
    capabilities = AgentCapabilities(streaming=True, push_notifications=True, extensions=extensions)
    return AgentCard(
        name=serving.NAME, description=description, version="1.0.0", url=f"{place.url}/", preferred_transport="JSONRPC",
        additional_interfaces=[AgentInterface(transport=binding, url=at) for binding, at in place.interfaces()],
        capabilities=capabilities, supports_authenticated_extended_card=True,
        default_input_modes=serving.MODES, default_output_modes=serving.MODES,
        skills=[AgentSkill(id="words", name="Words", description="All of them.", tags=["conformance"])])


async def main():
    over_grpc = grpc.aio.server()
    place = serving.Place(over_grpc)
    public, extended = card(place), card(place, serving.EXTENDED)
    strict = card(place, extensions=[AgentExtension(uri=serving.EXTENSION, required=True)])

    async def strict_card(_):
        return JSONResponse(strict.model_dump(mode="json", by_alias=True, exclude_none=True))

    configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient() as http:
        handler = DefaultRequestHandler(
            agent_executor=Peer(), task_store=InMemoryTaskStore(), push_config_store=configs,
            push_sender=BasePushNotificationSender(http, configs))
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(public, handler), over_grpc)
        await over_grpc.start()
        json_rpc = A2AStarletteApplication(public, handler, extended_agent_card=extended)
        rest = A2ARESTFastAPIApplication(public, handler, extended_agent_card=extended)
        app = Starlette(routes=[
            *json_rpc.routes(),
            Route("/strict/.well-known/agent-card.json", strict_card),
            Mount("/rest", rest.build()),
        ])
        await serving.serve(app, place, f"python {version('a2a-sdk')}")
        await over_grpc.stop(0)


if __name__ == "__main__":
    asyncio.run(main())
