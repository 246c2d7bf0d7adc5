-- Sets the lengths of lists to the depths that SQL counted, and forgets which
-- claims were ahead: after a flush all of them seem to be, and would eat the
-- tokens of jobs to come. A key of another kind, which a stranger has put there,
-- goes: with it no ring and no wait would be answered.
-- KEYS     the queues' lists, then their counts of claims ahead of tokens
-- ARGV     the queues' depths, in the same order
-- returns  by how much each length was changed, in the same order
local chunk = {}
for i = 1, 1000 do
  chunk[i] = '1'
end
local changed = {}
for i = 1, #ARGV do
  local key, depth = KEYS[i], tonumber(ARGV[i])
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'list' and kind ~= 'none' then
    redis.call('UNLINK', key)
  end
  local missing = depth - redis.call('LLEN', key)
  for left = missing, 1, -1000 do
    redis.call('RPUSH', key, unpack(chunk, 1, math.min(left, 1000)))
  end
  if depth == 0 and missing < 0 then
    redis.call('UNLINK', key)
  elseif missing < 0 then
    redis.call('LTRIM', key, 0, depth - 1)
  end
  redis.call('DEL', KEYS[#ARGV + i])
  changed[i] = missing
end
return changed
