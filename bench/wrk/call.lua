-- The load: one JSON-RPC call, again and again. Arguments after `--`: method, for GetTask a file of task ids, one a
-- line, else `-`, and a token if the server wants one. At the end one line of JSON says how it went.

local calls = {}
local next_call = 0

local head = { ["Content-Type"] = "application/json", ["A2A-Version"] = "1.0" }

local function body(method, params)
  return '{"jsonrpc":"2.0","id":1,"method":"' .. method .. '","params":' .. params .. '}'
end

function init(args)
  local method, file, token = args[1], args[2], args[3]
  if token then
    head["Authorization"] = "Bearer " .. token
  end
  if method == "GetTask" then
    for id in io.lines(file) do
      calls[#calls + 1] = wrk.format("POST", nil, head, body(method, '{"id":"' .. id .. '"}'))
    end
  else
    local message = '{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hello there"}]}}'
    calls[1] = wrk.format("POST", nil, head, body(method, message))
  end
end

function request()
  next_call = next_call % #calls + 1
  return calls[next_call]
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    'result {"requests":%d,"seconds":%.6f,"p50_us":%d,"p99_us":%d,"max_us":%d,"bytes":%d,' ..
    '"not_ok":%d,"broken":%d,"timeouts":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99), latency.max,
    summary.bytes, e.status, e.connect + e.read + e.write, e.timeout))
end
