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

-- A bucket's arrival time, now at the earliest, the ticks that a request costs, and how many of n fit in.
local function bucket(tat, now, limit, n)
  tat = tonumber(tat)
  if not tat or tat < now then
    tat = now
  end
  local step = math.floor(MINUTE / limit)
  local room = now + MINUTE - tat
  if step * n <= room then
    return tat, step, n
  end
  return tat, step, math.floor(room / step)
end

-- Requests left in a bucket that is full again at `tat`.
local function left(tat, now, limit)
  return math.floor((now + MINUTE - tat) * limit / MINUTE + 0.001)
end

-- n requests that are alike: one key, one scope, one endpoint. The answer is described at gate().
local function alike(at, scope, endpoint, n, now)
  local e = redis.call('HMGET', at, 'x', 'g', 'o', 'k', 's', 'kr', 'or', 'er')
  if e[1] then
    return { 2 }
  elseif not e[2] then
    return { 0 }
  elseif scope == 0 then
    return { 5, e[2] }
  elseif bit.band(tonumber(e[5]), scope) == 0 then
    return { 3, e[2] }
  end

  -- the organization's hash: a field a key, '' its own bucket, '!' when its end was last put off
  local buckets, key = 'tab:r:' .. e[3], e[4]
  local tat = redis.call('HMGET', buckets, key, '', '!')
  local key_limit, limit = tonumber(e[6]), tonumber(e[7])
  local key_tat, key_step, m = bucket(tat[1], now, key_limit, n)
  local org_tat, org_step, org_m = bucket(tat[2], now, limit, n)
  if org_m < m then
    m = org_m
  end
  local endpoint_at, endpoint_tat, endpoint_step, state = nil, now, 0, '-'
  if endpoint ~= '' then
    local endpoint_m
    endpoint_at = 'tab:e:' .. e[3] .. ':' .. endpoint
    endpoint_tat, endpoint_step, endpoint_m = bucket(redis.call('GET', endpoint_at), now, tonumber(e[8]), n)
    if endpoint_m < m then
      m = endpoint_m
    end
    state = redis.call('GET', 'tab:s:' .. e[3] .. ':' .. endpoint) or '-'
  end

  key_tat, org_tat, endpoint_tat = key_tat + m * key_step, org_tat + m * org_step, endpoint_tat + m * endpoint_step
  local retry = 0
  if m < n then -- the next one would be late by so much
    retry = ms(math.max(key_tat + key_step, org_tat + org_step, endpoint_tat + endpoint_step) - now - MINUTE)
  end
  if m > 0 then
    redis.set_repl(redis.REPL_NONE) -- a rate need not survive this server: no write to its log for it
    if endpoint_at then
      redis.call('SET', endpoint_at, endpoint_tat, 'PX', ms(MINUTE))
    end
    local touched = tonumber(tat[3])
    if touched and now - touched < MINUTE then
      redis.call('HSET', buckets, key, key_tat, '', org_tat)
    else
      redis.call('HSET', buckets, key, key_tat, '', org_tat, '!', now)
      redis.call('EXPIRE', buckets, 130)
    end
    redis.set_repl(redis.REPL_ALL)
    redis.call('HINCRBY', 'tab:use', key, m)
  end
  local key_left, remaining, full = left(key_tat, now, key_limit), left(org_tat, now, limit), org_tat
  if key_left <= remaining then
    limit, remaining, full = key_limit, key_left, key_tat
  end
  return { m > 0 and 1 or 4, e[2], limit, remaining, ms(full - now), retry, state, m }
end

-- All requests of one turn of a gateway's loop, those that are alike counted together.
-- keys: tab:k:<hash>, one a group; args: scope bit (0: no route), endpoint or '', how many, for each group
-- -> for each group: code, grant, limit, remaining, reset ms, retry ms, state version, how many are let in
-- code: 0 no entry, 1 let in (the first m; the others are over a limit), 2 tombstone, 3 lacks the scope,
-- 4 over a limit, 5 valid but no route. remaining and reset hold after the last that is let in.
local function gate(keys, args)
  local now, ret = now_ticks(), {}
  for i = 1, #keys do
    ret[i] = alike(keys[i], tonumber(args[3 * i - 2]), args[3 * i - 1], tonumber(args[3 * i]), now)
  end
  return ret
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
