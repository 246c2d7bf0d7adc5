-- Sets the lengths of lists to the depths that SQL counted.
-- KEYS     the queues' lists
-- ARGV     their depths, in the same order
-- returns  by how much each length was changed, in the same order
local chunk = {}
for i = 1, 1000 do
  chunk[i] = '1'
end
local changed = {}
for i, key in ipairs(KEYS) do
  local depth = tonumber(ARGV[i])
  local missing = depth - redis.call('LLEN', key)
  for left = missing, 1, -1000 do
    redis.call('RPUSH', key, unpack(chunk, 1, math.min(left, 1000)))
  end
  if depth == 0 and missing < 0 then
    redis.call('UNLINK', key)
  elseif missing < 0 then
    redis.call('LTRIM', key, 0, depth - 1)
  end
  changed[i] = missing
end
return changed
