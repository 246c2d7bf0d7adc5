-- Pushes the tokens of jobs that are ready, less those that were claimed before
-- their tokens were there: a worker that polls can be that quick.
-- KEYS[1]  the queue's list
-- KEYS[2]  how many claims were ahead of their tokens; it expires by itself
-- ARGV[1]  how many jobs
-- returns  how many tokens were pushed
local n = tonumber(ARGV[1])
local early = tonumber(redis.call('GET', KEYS[2]) or '0')
local met = math.min(n, early)
if met > 0 then
  if met == early then
    redis.call('DEL', KEYS[2])
  else
    redis.call('DECRBY', KEYS[2], met)
  end
end
n = n - met
local chunk = {}
for i = 1, math.min(n, 1000) do
  chunk[i] = '1'
end
for left = n, 1, -1000 do
  redis.call('RPUSH', KEYS[1], unpack(chunk, 1, math.min(left, 1000)))
end
return n
