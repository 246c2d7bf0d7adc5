-- Pops the tokens of jobs that were claimed without them. What is missing is
-- put down for a moment, for the token that is still on its way.
-- KEYS[1]  the queue's list
-- KEYS[2]  how many claims were ahead of their tokens
-- ARGV[1]  how many jobs
-- ARGV[2]  for how many milliseconds a token can be on its way
-- returns  how many tokens were popped
local n = tonumber(ARGV[1])
local got = redis.call('LPOP', KEYS[1], n)
local popped = got and #got or 0
if popped < n then
  redis.call('INCRBY', KEYS[2], n - popped)
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
return popped
