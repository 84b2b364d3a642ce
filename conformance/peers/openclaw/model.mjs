// The model behind a real OpenClaw gateway: no model at all, but one that answers by rule, so that tests know what to
// expect. It speaks the chat completions of OpenAI, as far as OpenClaw needs them.
//
//     node model.mjs PORT
//
// What the last user message asks for:
//
//     count N MS     the words 1 to N, one each MS milliseconds
//     run COMMAND    calls the tool `exec`, and then tells what came of it
//     break          an error of the model
//     turns          how many messages of the user it was told
//     anything else  "heard: " and the last line of it, and what was attached
import http from "node:http";

const port = Number(process.argv[2]);
const INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>";

const pieces = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []));
const text = (content) => pieces(content).filter((piece) => piece.type === "text").map((piece) => piece.text).join("\n");
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What a user wrote, without what the gateway puts around it. */
function prompt(message) {
  return text(message?.content).replace(/^\[[^\]]*\] /, "").split(/\n+Runtime: /)[0].trim();
}

/** What to answer: words and the time between them, or a tool to call. */
function answer(messages) {
  const users = messages.filter((message) => message.role === "user" && !text(message.content).startsWith(INTERNAL));
  const said = messages.filter((message) => message.role !== "user" || users.includes(message));
  const last = said.at(-1);
  if (last?.role === "tool") return { words: [`the tool gave: ${text(last.content).trim()}`], ms: 0 };
  // A gateway that was killed in the middle of a run goes on with it so.
  if (text(users.at(-1)?.content).includes("interrupted by a gateway restart")) return { words: ["went on"], ms: 0 };
  const asked = prompt(users.at(-1));
  const [, count, ms] = asked.match(/^count (\d+) (\d+)/) ?? [];
  if (count) return { words: Array.from({ length: Number(count) }, (_, n) => (n ? ` ${n + 1}` : "1")), ms: Number(ms) };
  const [, command] = asked.match(/^run (.+)/) ?? [];
  if (command) return { tool: { name: "exec", arguments: JSON.stringify({ command }) } };
  if (asked === "break") return { error: 400 };
  if (asked === "turns") return { words: [String(users.length)], ms: 0 };
  const image = pieces(users.at(-1)?.content).some((piece) => piece.type !== "text");
  // The content of a text file is in what the model is told, wherever the gateway puts it.
  const file = JSON.stringify(messages).includes("CONTENT-OF-A-FILE");
  const words = [`heard: ${asked.split("\n").at(-1)}`, image ? ", with an image" : "", file ? ", with a file" : ""];
  return { words, ms: 0 };
}

async function complete(request, response) {
  let body = "";
  for await (const piece of request) body += piece;
  // Tests want to know whether a cancel came so far.
  response.on("close", () => response.writableFinished || console.log("cut off"));
  const { messages = [], model, stream } = JSON.parse(body || "{}");
  const { words = [], ms = 0, tool, error } = answer(messages);
  if (error) {
    response.writeHead(error, { "content-type": "application/json" });
    return response.end(JSON.stringify({ error: { message: "the model broke", type: "test" } }));
  }
  const call = tool && [{ index: 0, id: `call_${Date.now()}`, type: "function", function: tool }];
  const usage = { prompt_tokens: 7, completion_tokens: words.length || 1, total_tokens: 7 + (words.length || 1) };
  const finish = tool ? "tool_calls" : "stop";
  const base = { id: "chatcmpl-test", created: 0, model };
  if (!stream) {
    const message = { role: "assistant", content: tool ? null : words.join(""), tool_calls: call };
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason: finish }], usage }));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (choices, more = {}) =>
    response.write(`data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices, ...more })}\n\n`);
  const delta = (delta, finish_reason = null) => send([{ index: 0, delta, finish_reason }]);
  delta({ role: "assistant", content: "" });
  if (call) delta({ tool_calls: call });
  for (const word of words) {
    if (response.closed) return;
    if (word) delta({ content: word });
    await pause(ms);
  }
  delta({}, finish);
  send([], { usage });
  response.end("data: [DONE]\n\n");
}

http
  .createServer((request, response) => {
    if (request.method === "POST") return complete(request, response).catch(() => response.destroy());
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "list", data: [{ id: "rule", object: "model" }] }));
  })
  .listen(port, "127.0.0.1");
