#!lua name=tabella
-- Request rates, the gateway's key cache and the counters of use, in Redis: one round trip a request.
--
--   tab:k:<sha256>      hash   the cached key: g grant text (common/identity.h), o org, k key, s scopes,
--                              kr or er rates, v version; a tombstone has x = 1 and v only
--   tab:r:<org>         hash   theoretical arrival times of the buckets: field "" the organization's, else a key's
--   tab:e:<org>:<id>    string the same for one endpoint
--   tab:c:<org>         string the same for cells a minute
--   tab:s:<org>:<id>    string state version of an endpoint, by id and by name; jobs writes it
--   tab:use             hash   requests let through by key, until the keys service takes them
--
-- A bucket is GCRA (ITU-T I.371, virtual scheduling): one number, the time at which it would be full again.
-- A minute's worth may come at once, then one every minute / limit. Times are ticks of 10 us since 2020 by this
-- server's clock: whole numbers, which Lua and Redis hand over fastest and exactly. Keys are derived from the
-- organization inside the script: one primary, no cluster.

local MINUTE = 6000000

local function now_ticks()
  local t = redis.call('TIME')
  return (t[1] - 1577836800) * 100000 + math.floor(t[2] / 10)
end

local function ms(ticks)
  return math.ceil(ticks / 100)
end

-- The bucket's next arrival time if one request more is let in.
local function arrive(tat, now, limit)
  tat = tonumber(tat)
  if not tat or tat < now then
    tat = now
  end
  return tat + math.floor(MINUTE / limit)
end

-- Requests left in a bucket after this one.
local function left(new, now, limit)
  return math.floor((now + MINUTE - new) * limit / MINUTE + 0.001)
end

-- keys: tab:k:<hash>; args: scope bit (0: no route), endpoint or ''
-- -> code, grant, limit, remaining, reset ms, retry ms, state version
-- code: 0 no entry, 1 let in, 2 tombstone, 3 lacks the scope, 4 over a limit, 5 valid but no route
local function gate(keys, args)
  local e = redis.call('HMGET', keys[1], 'x', 'g', 'o', 'k', 's', 'kr', 'or', 'er')
  if e[1] then
    return { 2 }
  elseif not e[2] then
    return { 0 }
  end
  local scope = tonumber(args[1])
  if scope == 0 then
    return { 5, e[2] }
  elseif bit.band(tonumber(e[5]), scope) == 0 then
    return { 3, e[2] }
  end

  -- the organization's hash: a field a key, '' its own bucket, '!' when its end was last put off
  local now, buckets, key = now_ticks(), 'tab:r:' .. e[3], e[4]
  local tat = redis.call('HMGET', buckets, key, '', '!')
  local key_limit, limit = tonumber(e[6]), tonumber(e[7])
  local key_new, org_new = arrive(tat[1], now, key_limit), arrive(tat[2], now, limit)
  local key_left, remaining, new = left(key_new, now, key_limit), left(org_new, now, limit), org_new
  local latest = key_new > org_new and key_new or org_new
  if key_left <= remaining then
    limit, remaining, new = key_limit, key_left, key_new
  end

  local endpoint, endpoint_at, endpoint_new, state = args[2], nil, nil, '-'
  if endpoint ~= '' then
    endpoint_at = 'tab:e:' .. e[3] .. ':' .. endpoint
    endpoint_new = arrive(redis.call('GET', endpoint_at), now, tonumber(e[8]))
    if endpoint_new > latest then
      latest = endpoint_new
    end
    state = redis.call('GET', 'tab:s:' .. e[3] .. ':' .. endpoint) or '-'
  end
  if latest - now > MINUTE then -- none is debited
    return { 4, e[2], limit, remaining < 0 and 0 or remaining, ms(new - now), ms(latest - now - MINUTE) }
  end
  redis.set_repl(redis.REPL_NONE) -- a rate need not survive this server: no write to its log for it
  if endpoint_at then
    redis.call('SET', endpoint_at, endpoint_new, 'PX', ms(MINUTE))
  end
  local touched = tonumber(tat[3])
  if touched and now - touched < MINUTE then
    redis.call('HSET', buckets, key, key_new, '', org_new)
  else
    redis.call('HSET', buckets, key, key_new, '', org_new, '!', now)
    redis.call('EXPIRE', buckets, 130)
  end
  redis.set_repl(redis.REPL_ALL)
  redis.call('HINCRBY', 'tab:use', key, 1)
  return { 1, e[2], limit, remaining, ms(new - now), 0, state }
end

-- Fill or replace a cached key. keys: tab:k:<hash>; args: version, seconds to live, grant or '' for a
-- tombstone, org, key, scopes, key rate, org rate, endpoint rate. -> 1 written, 0 a newer one stands.
-- A fill that read its row before a change was made carries the older version and loses.
local function key_put(keys, args)
  local version, grant = tonumber(args[1]), args[3]
  local e = redis.call('HMGET', keys[1], 'v', 'x')
  local have = tonumber(e[1])
  if have and (have > version or (have == version and e[2] and grant ~= '')) then
    return 0
  end
  redis.call('DEL', keys[1])
  if grant == '' then
    redis.call('HSET', keys[1], 'v', args[1], 'x', '1')
  else
    redis.call('HSET', keys[1], 'v', args[1], 'g', grant, 'o', args[4], 'k', args[5], 's', args[6],
      'kr', args[7], 'or', args[8], 'er', args[9])
  end
  redis.call('EXPIRE', keys[1], args[2])
  return 1
end

-- Debit cells. keys: tab:c:<org>; args: cells, cells a minute. -> { 1, 0 } or { 0, retry ms }.
-- A call larger than a minute's cells is let in when the bucket is full, and is paid off afterwards.
-- Negative cells give back.
local function cells(keys, args)
  local now, cost = now_ticks(), math.ceil(args[1] * MINUTE / args[2])
  local tat = tonumber(redis.call('GET', keys[1]) or 0)
  if tat < now then
    tat = now
  end
  local new = tat + cost
  if cost > 0 and tat > now and new - now > MINUTE then
    return { 0, ms(cost > MINUTE and tat - now or new - now - MINUTE) }
  end
  if new <= now then
    redis.call('DEL', keys[1])
  else
    redis.call('SET', keys[1], new, 'PX', ms(new - now))
  end
  return { 1, 0 }
end

-- Take the counters of use. args: a fresh batch id. -> { batch, key, count, key, count, ... } or {}.
-- A batch that was taken and not yet confirmed is given again under its first id.
local function use_take(keys, args)
  local batch = redis.call('LINDEX', 'tab:use:taken', 0)
  if not batch then
    if redis.call('EXISTS', 'tab:use') == 0 then
      return {}
    end
    batch = args[1]
    redis.call('RENAME', 'tab:use', 'tab:use:' .. batch)
    redis.call('RPUSH', 'tab:use:taken', batch)
  end
  local all = redis.call('HGETALL', 'tab:use:' .. batch)
  table.insert(all, 1, batch)
  return all
end

local function use_taken(keys, args)
  redis.call('LREM', 'tab:use:taken', 0, args[1])
  return redis.call('DEL', 'tab:use:' .. args[1])
end

redis.register_function('tab_gate', gate)
redis.register_function('tab_key_put', key_put)
redis.register_function('tab_cells', cells)
redis.register_function('tab_use_take', use_take)
redis.register_function('tab_use_taken', use_taken)
