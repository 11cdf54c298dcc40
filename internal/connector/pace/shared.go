package pace

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// errAway says that Redis is not asked: it is not there, or failed just now.
var errAway = errors.New("the store of turns is away")

// The scripts keep a hash of two times a line, in microseconds by the clock of
// Redis, which all processes share: "at", the theoretical time of the request
// after the last one (the generic cell rate algorithm), and "until", before
// which no request is made at all. Each answers a time to wait.

// never changes
var turnScript = redis.NewScript(`
redis.replicate_commands()
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval, burst, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('HMGET', KEYS[1], 'at', 'until')
local at = math.max(tonumber(kept[1] or '0') or 0, now)
local free = math.max(tonumber(kept[2] or '0') or 0, now)
local mine = math.max(at - (burst - 1) * interval, free)
local wait = mine - now
if wait > longest then
  return string.format('%.0f', wait)
end
if interval > 0 then
  at = math.max(at, free) + interval
  redis.call('HSET', KEYS[1], 'at', string.format('%.0f', at))
  redis.call('PEXPIRE', KEYS[1], math.ceil((math.max(at, free) - now) / 1000) + 1000)
end
return string.format('%.0f', wait)
`)

// never changes
var holdScript = redis.NewScript(`
redis.replicate_commands()
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local kept = redis.call('HMGET', KEYS[1], 'at', 'until')
local free = math.max(tonumber(kept[2] or '0') or 0, now + tonumber(ARGV[1]) * 1000)
redis.call('HSET', KEYS[1], 'until', string.format('%.0f', free))
redis.call('PEXPIRE', KEYS[1], math.ceil((math.max(tonumber(kept[1] or '0') or 0, free) - now) / 1000) + 1000)
return string.format('%.0f', free - now)
`)

// never changes
var heldScript = redis.NewScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local free = tonumber(redis.call('HGET', KEYS[1], 'until') or '0') or 0
return string.format('%.0f', math.max(free - now, 0))
`)

// resting reports whether Redis failed so recently that it is not asked. When
// its rest is over, one request tries it and the others go on without.
func (p *Pacer) resting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.away {
		return false
	}
	now := p.opt.Now()
	if now.Before(p.awayUntil) {
		return true
	}
	p.awayUntil = now.Add(restAfterFail)
	return false
}

func (p *Pacer) lost(err error) {
	if errors.Is(err, errAway) {
		return
	}
	p.mu.Lock()
	first := !p.away
	p.away, p.awayUntil = true, p.opt.Now().Add(restAfterFail)
	p.mu.Unlock()
	if first {
		p.opt.Log.Warn("paces of platforms: Redis does not answer; counting in this process", "error", err)
	}
}

func (p *Pacer) found() {
	p.mu.Lock()
	back := p.away
	p.away, p.awayUntil = false, time.Time{}
	p.mu.Unlock()
	if back {
		p.opt.Log.Info("paces of platforms: Redis answers again")
	}
}
