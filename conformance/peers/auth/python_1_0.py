"""The Python SDK 1.3.0 shows a credential to an agent, in the way that the card asks for and the SDK has."""

import asyncio
import uuid

import asked
import grpc.aio
import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, InMemoryContextCredentialStore
from a2a.types import Message, Part, Role, SendMessageRequest, TaskState


def ask():
    message = Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=[Part(text="hello")])
    return SendMessageRequest(message=message)


async def main():
    told = asked.options()
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, told.url).get_agent_card()
        kept = [i for i in card.supported_interfaces
                if i.protocol_binding == told.binding and i.protocol_version.startswith(told.version)]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)
        store = InMemoryContextCredentialStore()
        await store.set_credentials("one", told.scheme, told.credential)
        for streaming in (False, True):
            config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=[told.binding],
                                  grpc_channel_factory=grpc.aio.insecure_channel)
            client = ClientFactory(config).create(card, interceptors=[AuthInterceptor(store)])
            asked.check_refusal(await asked.refused(client.send_message(ask())))
            known = ClientCallContext(state={"sessionId": "one"})
            events = [event async for event in client.send_message(ask(), context=known)]
            last = events[-1]
            status = last.task.status if last.WhichOneof("payload") == "task" else last.status_update.status
            assert status.state == TaskState.TASK_STATE_COMPLETED, events
    print("ok")


asyncio.run(main())
