"""An agent made with the Python SDK 1.3.0, in 1.0 and 0.3, over all bindings: see conformance/README.md."""

import asyncio
from importlib.metadata import version

import grpc.aio
import httpx
import serving
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater,
)
from a2a.types import (
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill, Part, Role, a2a_pb2_grpc,
)
from starlette.applications import Starlette


class Peer(AgentExecutor):
    async def execute(self, context, queue):
        text, task = context.get_user_input(), context.current_task
        word = serving.first_word(text)
        if word == "msg":
            await queue.enqueue_event(
                new_text_message("echo: " + text, role=Role.ROLE_AGENT, context_id=context.context_id))
            return
        if word == "raise":
            raise RuntimeError("the agent raised")
        answers = task is not None
        if not answers:
            task = new_task_from_user_message(context.message)
            await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task.id, task.context_id)
        await updater.start_work()
        await self.work(text, word, answers, updater, context)

    async def work(self, text, word, answers, updater, context):
        def say(words):
            return updater.new_agent_message([new_text_part(words)])

        parts = [new_text_part("echo: " + text)]
        if answers:
            parts = [new_text_part("you chose " + text)]
        elif word == "input":
            await updater.requires_input(say("which colour?"))
            return
        elif word == "fail":
            await updater.failed(say("it failed"))
            return
        elif word == "long":
            await asyncio.sleep(serving.LONG_SECONDS)
        elif word in ("stream", "slow"):
            async for piece, append, last in serving.chunks(text):
                await updater.add_artifact([new_text_part(piece)], artifact_id="answer", name="answer",
                                           append=append, last_chunk=last)
            await updater.complete()
            return
        elif word == "keep":
            serving.keep(part.raw for part in context.message.parts if part.HasField("raw"))
        elif word == "give":
            parts = [Part(raw=content) for content in serving.give()]
        elif word in ("file", "data"):
            parts = [part for part in context.message.parts if not part.HasField("text")]
        await updater.add_artifact(parts, artifact_id="answer", name="answer")
        await updater.complete()

    async def cancel(self, context, queue):
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


def card(place, description=serving.DESCRIPTION, extensions=()):
    interfaces = [
        AgentInterface(url=at, protocol_binding=binding, protocol_version=version)
        for version in ("1.0", "0.3")
        for binding, at in place.interfaces()
    ]
    capabilities = AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True,
                                     extensions=extensions)
    return AgentCard(
        name=serving.NAME, description=description, version="1.0.0", supported_interfaces=interfaces,
        capabilities=capabilities, default_input_modes=serving.MODES, default_output_modes=serving.MODES,
        skills=[AgentSkill(id="words", name="Words", description="All of them.", tags=["conformance"])])


async def main():
    over_grpc = grpc.aio.server()
    place = serving.Place(over_grpc)
    public = card(place)
    strict = card(place, extensions=[AgentExtension(uri=serving.EXTENSION, required=True)])
    configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient() as http:
        handler = DefaultRequestHandler(
            agent_executor=Peer(), task_store=InMemoryTaskStore(), agent_card=public, push_config_store=configs,
            push_sender=BasePushNotificationSender(http, configs),
            extended_agent_card=card(place, serving.EXTENDED))
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), over_grpc)
        a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), over_grpc)
        await over_grpc.start()
        app = Starlette(routes=[
            *create_agent_card_routes(public),
            *create_agent_card_routes(strict, card_url="/strict/.well-known/agent-card.json"),
            *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True),
            *create_rest_routes(handler, path_prefix="/rest", enable_v0_3_compat=True),
        ])
        await serving.serve(app, place, f"python {version('a2a-sdk')}")
        await over_grpc.stop(0)


if __name__ == "__main__":
    asyncio.run(main())
