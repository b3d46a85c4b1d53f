#!lua name=tabella
-- Request rates, the gateway's key cache and the counters of use, in Redis.
--
--   tab:g:<sha256>      string the cached key: its entry (common/security/entry.h), or "x <version> <org>", a tombstone
--   tab:v:<org>         string the number of the organization's last revocation, signed (common/security/entry.h)
--   tab:r:<org>         hash   theoretical arrival times of the buckets: field "" the organization's, else a key's
--   tab:e:<org>:<id>    string the same for one endpoint
--   tab:c:<org>         string the same for cells a minute
--   tab:o:<org>         hash   realtime calls under way, by api process: how many
--   tab:s:<org>:<id>    string state version of an endpoint, by id and by name; jobs writes it
--   tab:i:<org>:<hash>  string a serve call's Idempotency-Key: at work, or its answer (services/api/serve/serve_once.c)
--   tab:use             hash   requests let through by key, and what became of serve calls ("level DAY ORG": counts),
--                              until the keys service takes them
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

-- The same moment in milliseconds since 1970, for the gateways' clock.
local function wall_ms(now)
  return 1577836800000 + math.floor(now / 100)
end

-- A whole number as text: redis.call writes numbers with %.17g, which costs ten times as much.
local function text(n)
  return string.format('%d', n)
end

local function ms(ticks)
  return math.ceil(ticks / 100)
end

-- What a grant's text says, read once: the same text always says the same. nil: damaged.
local read, many = {}, 0
local function grant_of(grant)
  local g = read[grant]
  if not g then
    local org, key, scopes, key_rpm, org_rpm, endpoint_rpm, tail =
      string.match(grant, '^(%S+) (%S+) (%d+) %S+ (%d+) (%d+) (%d+) %d+ %d+ %d+ (.*)$')
    if not org then
      return nil
    end
    if many == 4096 then
      read, many = {}, 0
    end
    local epoch = string.match(tail, '^%d+ (%d+) ') or string.match(tail, '^%d+ b:%S+ (%d+) ') -- of a signed entry
    g = { org = org, key = key, revoked = 'tab:v:' .. org, epoch = tonumber(epoch), buckets = 'tab:r:' .. org, scopes = tonumber(scopes), key_rpm = tonumber(key_rpm),
          org_rpm = tonumber(org_rpm), endpoint_rpm = tonumber(endpoint_rpm) }
    read[grant], many = g, many + 1
  end
  return g
end

-- A bucket's arrival time, now at the earliest, the ticks that a request costs, how many of n fit in, and whether the
-- clock was set back since: such a bucket is empty, and has to be written, or it would be so until the old time comes.
local function bucket(tat, now, limit, n)
  tat = tonumber(tat)
  local back = false
  if not tat or tat < now then
    tat = now
  elseif tat > now + 2 * MINUTE then -- the clock was set back: a bucket is never a minute over what is full
    tat, back = now + MINUTE, true
  end
  local step = math.floor(MINUTE / limit)
  local room = now + MINUTE - tat
  if step * n <= room then
    return tat, step, n, back
  end
  return tat, step, math.max(0, math.floor(room / step)), back -- below 0 after a step back of the clock
end

-- Requests left in a bucket that is full again at `tat`.
local function left(tat, now, limit)
  return math.floor((now + MINUTE - tat) * limit / MINUTE + 0.001)
end

-- Writes the arrival times of a key, its organization and, unless endpoint_at is nil, an endpoint. touched: the hash's
-- field '!', when its end was last put off.
local function write(buckets, key, key_tat, org_tat, touched, endpoint_at, endpoint_tat, now)
  if endpoint_at then
    redis.call('SET', endpoint_at, text(endpoint_tat), 'PX', text(ms(math.max(MINUTE, endpoint_tat - now))))
  end
  touched = tonumber(touched)
  if touched and now - touched < MINUTE then
    redis.call('HSET', buckets, key, text(key_tat), '', text(org_tat))
  else
    redis.call('HSET', buckets, key, text(key_tat), '', text(org_tat), '!', text(now))
    redis.call('EXPIRE', buckets, '130')
  end
end

-- n requests that are alike: one key, one scope, one endpoint. The answer is described at gate().
local function alike(grant, scope, endpoint, n, now, uses)
  local g = grant and grant_of(grant)
  if not g then
    local org = grant and string.match(grant, '^x %d+ (%S+)$')
    local revoked = org and redis.call('GET', 'tab:v:' .. org) or ''
    return { grant and string.sub(grant, 1, 2) == 'x ' and 2 or 0, grant or '', 0, 0, 0, 0, '-', 0, wall_ms(now), revoked }
  end
  -- the gateway checks the same, with the signatures; here an old entry is asked for anew before it is counted
  local revoked = g.epoch and redis.call('GET', g.revoked) or ''
  if revoked ~= '' and g.epoch < tonumber(string.match(revoked, '^%d+') or 0) then
    return { 0, grant, 0, 0, 0, 0, '-', 0, wall_ms(now), revoked }
  elseif scope == 0 then
    return { 5, grant, 0, 0, 0, 0, '-', 0, wall_ms(now), revoked }
  elseif bit.band(g.scopes, scope) == 0 then
    return { 3, grant, 0, 0, 0, 0, '-', 0, wall_ms(now), revoked }
  end

  -- the organization's hash: a field a key, '' its own bucket, '!' when its end was last put off
  local buckets, key, key_limit, limit = g.buckets, g.key, g.key_rpm, g.org_rpm
  local tat = redis.call('HMGET', buckets, key, '', '!')
  local key_tat, key_step, m, back = bucket(tat[1], now, key_limit, n)
  local org_tat, org_step, org_m, org_back = bucket(tat[2], now, limit, n)
  if org_m < m then
    m = org_m
  end
  back = back or org_back
  local endpoint_at, endpoint_tat, endpoint_step, state = nil, now, 0, '-'
  if endpoint ~= '' then
    local endpoint_m, endpoint_back
    endpoint_at = 'tab:e:' .. g.org .. ':' .. endpoint
    endpoint_tat, endpoint_step, endpoint_m, endpoint_back = bucket(redis.call('GET', endpoint_at), now, g.endpoint_rpm, n)
    if endpoint_m < m then
      m = endpoint_m
    end
    back = back or endpoint_back
    state = redis.call('GET', 'tab:s:' .. g.org .. ':' .. endpoint) or '-'
  end

  key_tat, org_tat, endpoint_tat = key_tat + m * key_step, org_tat + m * org_step, endpoint_tat + m * endpoint_step
  local retry = 0
  if m < n then -- the next one would be late by so much
    retry = ms(math.max(key_tat + key_step, org_tat + org_step, endpoint_tat + endpoint_step) - now - MINUTE)
  end
  if m > 0 or back then
    write(buckets, key, key_tat, org_tat, tat[3], endpoint_at, endpoint_tat, now)
  end
  if m > 0 then
    uses[key] = (uses[key] or 0) + m
  end
  local key_left, remaining, full = left(key_tat, now, key_limit), left(org_tat, now, limit), org_tat
  if key_left <= remaining then
    limit, remaining, full = key_limit, key_left, key_tat
  end
  return { m > 0 and 1 or 4, grant, limit, remaining, ms(full - now), retry, state, m, wall_ms(now), revoked,
           key_tat - now, org_tat - now, endpoint_tat - now }
end

-- Adds to the counters of use: two calls for many keys, or one for one.
local function count(uses)
  local key, m = next(uses)
  if not key then
    return
  elseif not next(uses, key) then
    redis.call('HINCRBY', 'tab:use', key, text(m))
    return
  end
  local names, set = {}, {}
  for k in pairs(uses) do
    names[#names + 1] = k
  end
  local had = redis.call('HMGET', 'tab:use', unpack(names))
  for i, k in ipairs(names) do
    set[2 * i - 1], set[2 * i] = k, text((tonumber(had[i]) or 0) + uses[k])
  end
  redis.call('HSET', 'tab:use', unpack(set))
end

-- All requests of one turn of a gateway's loop, those that are alike counted together.
-- keys: tab:g:<hash>, one a group; args: scope bit (0: no route), endpoint or '', how many, for each group
-- -> for each group: code, entry, limit, remaining, reset ms, retry ms, state version, how many are let in,
-- this server's clock in ms, the organization's tab:v: or ''
-- code: 0 no entry, 1 let in (the first m; the others are over a limit), 2 tombstone, 3 lacks the scope,
-- 4 over a limit, 5 valid but no route. remaining and reset hold after the last that is let in. Of 1 and 4 there follow
-- the ticks until the buckets of key, organization and endpoint are full.
local function gate(keys, args)
  local now, uses, ret = now_ticks(), {}, {}
  local grants = redis.call('MGET', unpack(keys))
  redis.set_repl(redis.REPL_NONE) -- a rate need not survive this server: no write to its log for it
  for i = 1, #keys do
    ret[i] = alike(grants[i], tonumber(args[3 * i - 2]), args[3 * i - 1], tonumber(args[3 * i]), now, uses)
  end
  redis.set_repl(redis.REPL_ALL)
  count(uses)
  return ret
end

-- Requests that a gateway let in ahead (decision 0371): they are counted whether there is room or not.
-- args, for each caller: organization, key, endpoint or '', requests a minute of the three, how many were let in
-- -> this server's clock in ms; then for each caller the ticks until the buckets of the three are full
local function settle(keys, args)
  local now, uses = now_ticks(), {}
  local ret = { wall_ms(now) }
  local function after(tat, limit, n)
    local from, step = bucket(tat, now, tonumber(limit), n)
    return from + n * step
  end
  redis.set_repl(redis.REPL_NONE)
  for i = 1, #args, 7 do
    local org, key, endpoint, n = args[i], args[i + 1], args[i + 2], tonumber(args[i + 6])
    local buckets = 'tab:r:' .. org
    local tat = redis.call('HMGET', buckets, key, '', '!')
    local key_tat, org_tat = after(tat[1], args[i + 3], n), after(tat[2], args[i + 4], n)
    local endpoint_at, endpoint_tat = nil, now
    if endpoint ~= '' then
      endpoint_at = 'tab:e:' .. org .. ':' .. endpoint
      endpoint_tat = after(redis.call('GET', endpoint_at), args[i + 5], n)
    end
    write(buckets, key, key_tat, org_tat, tat[3], endpoint_at, endpoint_tat, now)
    uses[key] = (uses[key] or 0) + n
    ret[#ret + 1], ret[#ret + 2], ret[#ret + 3] = key_tat - now, org_tat - now, endpoint_tat - now
  end
  redis.set_repl(redis.REPL_ALL)
  count(uses)
  return ret
end

-- What a gateway saw of serve calls (decision 0685). args: a field of tab:use and its counts, for each organization and
-- day; counts are added one by one, missing ones are 0. -> this server's clock in ms
local function level(keys, args)
  local fields, set = {}, {}
  for i = 1, #args, 2 do
    fields[#fields + 1] = args[i]
  end
  local had = redis.call('HMGET', 'tab:use', unpack(fields))
  for i, field in ipairs(fields) do
    local old, sum = string.gmatch(had[i] or '', '%d+'), {}
    for n in string.gmatch(args[2 * i], '%d+') do
      sum[#sum + 1] = text(tonumber(n) + (tonumber(old() or 0)))
    end
    set[2 * i - 1], set[2 * i] = field, table.concat(sum, ' ')
  end
  redis.call('HSET', 'tab:use', unpack(set))
  return { wall_ms(now_ticks()) }
end

-- The version in an entry or a tombstone.
local function version_of(entry)
  return tonumber(string.match(entry, '^%S+ %S+ %d+ %S+ %d+ %d+ %d+ %d+ %d+ %d+ (%d+)') or string.match(entry, '^x (%d+)'))
end

-- Fill or replace a cached key. keys: tab:g:<hash>, and tab:v:<org> where the entry is signed; args: version, seconds
-- to live, entry or '' for a tombstone; then the signed number for tab:v: and its seconds to live. -> 1 written, 0 a
-- newer one stands.
-- A fill that read its row before a change was made carries the older version and loses.
local function key_put(keys, args)
  local version, entry = tonumber(args[1]), args[3]
  if keys[2] then
    local have = redis.call('GET', keys[2])
    if not have or tonumber(string.match(have, '^%d+') or 0) <= tonumber(string.match(args[4], '^%d+')) then
      redis.call('SET', keys[2], args[4], 'EX', args[5])
    end
  end
  local old = redis.call('GET', keys[1])
  local have = old and version_of(old)
  if have and (have > version or (have == version and string.sub(old, 1, 2) == 'x ' and entry ~= '')) then
    return 0
  end
  local tombstone = 'x ' .. args[1] .. (keys[2] and ' ' .. string.sub(keys[2], 7) or '')
  redis.call('SET', keys[1], entry == '' and tombstone or entry, 'EX', args[2])
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
    redis.call('SET', keys[1], text(new), 'PX', text(ms(new - now)))
  end
  return { 1, 0 }
end

-- An api process says how many realtime calls of an organization it has under way; its word holds for a lease, so
-- that the calls of a process that died are forgotten. keys: tab:o:<org>; args: process, calls, number of its word
-- (a later one is higher), calls at once over all processes (0: it only tells), lease ms, ms until the first of its
-- calls ends at the latest. -> { 1, 0 } or, where they would be too many, { 0, ms until one ends at the latest }.
local function calls(keys, args)
  local now, own = now_ticks(), args[1]
  local n, word, most = tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
  local until_, ends = now + 100 * tonumber(args[5]), now + 100 * tonumber(args[6])
  local others, first, all = 0, ends, redis.call('HGETALL', keys[1])
  redis.set_repl(redis.REPL_NONE)
  for i = 1, #all, 2 do
    local n_, word_, until__, ends_ = string.match(all[i + 1], '^(%d+) (%d+) (%d+) (%d+)$')
    if not n_ or tonumber(until__) < now or tonumber(until__) > until_ then -- over, or the clock was set back
      redis.call('HDEL', keys[1], all[i])
    elseif all[i] ~= own then
      others = others + tonumber(n_)
      first = math.min(first, tonumber(ends_))
    elseif tonumber(word_) > word then -- a later word came first: it counts this one's calls already
      n, word = tonumber(n_), nil
    end
  end
  if most > 0 and n + others > most then
    return { 0, math.max(1, ms(first - now)) }
  end
  if word and n == 0 then
    redis.call('HDEL', keys[1], own)
  elseif word then
    redis.call('HSET', keys[1], own, string.format('%d %d %d %d', n, word, until_, ends))
    redis.call('PEXPIRE', keys[1], args[5])
  end
  return { 1, 0 }
end

-- Claim the key of a serve call. keys: tab:i:<org>:<hash>; args: digest of the body, token, lease in ms, seconds to
-- live. -> { 1, seconds when the key was first used with this body } or, where it is answered or at work, { 0, what it is }.
local function once(keys, args)
  local now, lease, began = now_ticks(), 100 * tonumber(args[3]), nil
  local have = redis.call('GET', keys[1])
  if have then
    local until_, began_, digest = string.match(have, '^o (%d+) (%d+) %S+ (%S+)$')
    local over = until_ and (tonumber(until_) <= now or tonumber(until_) > now + lease) -- or the clock was set back
    if not over then
      return { 0, have }
    end
    began = digest == args[1] and began_
  end
  began = began or text(math.floor(wall_ms(now) / 1000))
  redis.call('SET', keys[1], 'o ' .. text(now + lease) .. ' ' .. began .. ' ' .. args[2] .. ' ' .. args[1], 'EX', args[4])
  return { 1, began }
end

-- The answer, as services/api/serve/serve_once.c writes it, and its seconds to live. -> '' or the answer that was there first.
local function once_done(keys, args)
  local have = redis.call('GET', keys[1])
  if have and string.sub(have, 1, 2) == 'd ' then
    return have
  end
  redis.call('SET', keys[1], args[1], 'EX', args[2])
  return ''
end

-- The call failed: another may begin at once. args: its token.
local function once_failed(keys, args)
  local have = redis.call('GET', keys[1])
  local began, token, digest = string.match(have or '', '^o %d+ (%d+) (%S+) (%S+)$')
  if token ~= args[1] then
    return 0
  end
  redis.call('SET', keys[1], 'o 0 ' .. began .. ' - ' .. digest, 'KEEPTTL')
  return 1
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
redis.register_function('tab_settle', settle)
redis.register_function('tab_level', level)
redis.register_function('tab_key_put', key_put)
redis.register_function('tab_cells', cells)
redis.register_function('tab_calls', calls)
redis.register_function('tab_once', once)
redis.register_function('tab_once_done', once_done)
redis.register_function('tab_once_failed', once_failed)
redis.register_function('tab_use_take', use_take)
redis.register_function('tab_use_taken', use_taken)
