"""The Python SDK 0.3.26 shows a credential to an agent, in the way that the card asks for and the SDK has."""

import asyncio
import uuid

import asked
import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, InMemoryContextCredentialStore
from a2a.types import Message, Part, Role, TaskState, TextPart


def message():
    return Message(role=Role.user, message_id=str(uuid.uuid4()), parts=[Part(root=TextPart(text="hello"))])


async def main():
    told = asked.options()
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, told.url).get_agent_card()
        store = InMemoryContextCredentialStore()
        await store.set_credentials("one", told.scheme, told.credential)
        for streaming in (False, True):
            config = ClientConfig(streaming=streaming, httpx_client=http, supported_transports=[told.binding])
            client = ClientFactory(config).create(card, interceptors=[AuthInterceptor(store)])
            asked.check_refusal(await asked.refused(client.send_message(message())))
            known = ClientCallContext(state={"sessionId": "one"})
            events = [event async for event in client.send_message(message(), context=known)]
            task, _ = events[-1]
            assert task.status.state == TaskState.completed, events
    print("ok")


asyncio.run(main())
