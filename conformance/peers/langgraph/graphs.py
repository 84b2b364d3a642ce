"""The agent of the peers as a graph: no model, no network. The first word says what it does."""

import asyncio
import json
from typing import Annotated

from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

LONG_SECONDS = 600
SLOW_SECONDS = 2
TALE = " ".join(f"w{n}" for n in range(30))


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    # Where the keys of data parts go.
    n: int
    half: float
    deep: dict


def said(message):
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block.get("text", "") for block in message.content if isinstance(block, dict)).strip()


async def answer(state):
    asked = [message for message in state.get("messages", []) if isinstance(message, HumanMessage)][-1]
    text = said(asked)
    word = (text.split() or [""])[0]
    if word == "input":
        chosen = interrupt("which colour?")
        return reply(f"you chose {chosen if isinstance(chosen, str) else json.dumps(chosen)}")
    if word == "fail":
        raise RuntimeError("it failed")
    if word == "long":
        await asyncio.sleep(LONG_SECONDS)
    if word == "slow":
        await asyncio.sleep(SLOW_SECONDS)
        return reply("".join(f"{n} " for n in range(1, 21)))
    if word == "stream":
        model = GenericFakeChatModel(messages=iter([AIMessage(content="one two three")]))
        return {"messages": [await model.ainvoke(state["messages"])]}
    if word == "tale":
        # A letter at a time.
        model = FakeListChatModel(responses=[TALE], sleep=0.03)
        return {"messages": [await model.ainvoke(state["messages"])]}
    if word == "turns":
        return reply(str(sum(isinstance(message, HumanMessage) for message in state["messages"])))
    if word == "file":
        return reply(json.dumps([block for block in asked.content if block.get("type") != "text"]))
    if word == "data":
        return reply(json.dumps({name: state[name] for name in ("n", "half", "deep") if name in state}))
    return reply("echo: " + text)


def reply(text):
    return {"messages": [AIMessage(content=text)]}


builder = StateGraph(State)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
builder.add_edge("answer", END)
peer = builder.compile()
