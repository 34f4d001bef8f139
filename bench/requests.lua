-- Sends the requests of the file BENCH_REQUESTS in turn: per line METHOD, PATH and BODY between tabs. @@N@@ in a body
-- becomes a number never used before, behind BENCH_UNIQUE. At the end it writes one line of JSON.
local requests, count, at, used = {}, 0, 0, 0
local unique = os.getenv("BENCH_UNIQUE")

function init()
  for line in io.lines(os.getenv("BENCH_REQUESTS")) do
    local method, path, body = line:match("^(%u+)\t([^\t]+)\t(.*)$")
    local headers = { ["x-api-key"] = os.getenv("BENCH_KEY"), ["authorization"] = os.getenv("BENCH_TOKEN") }
    count = count + 1
    if body == "" then
      requests[count] = wrk.format(method, path, headers)
    else
      headers["content-type"] = "application/json"
      requests[count] = { method, path, headers, body }
    end
  end
  at = tonumber(os.getenv("BENCH_OFFSET")) % count
end

function request()
  at = at % count + 1
  local next = requests[at]
  if type(next) == "string" then return next end
  used = used + 1
  return wrk.format(next[1], next[2], next[3], (next[4]:gsub("@@N@@", unique .. used)))
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"errors":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
