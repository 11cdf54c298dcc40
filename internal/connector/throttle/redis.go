package throttle

import (
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// errUnavailable says that there is no Redis or that it failed a moment ago.
var errUnavailable = errors.New("redis is unavailable")

// The scripts keep a hash with two times in microseconds of Redis' clock: "at" is
// the theoretical arrival time of the generic cell rate algorithm, "until" the end
// of a pause. Each script returns a time to wait.

// never changes
var takeScript = redis.NewScript(`
redis.replicate_commands()
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval, burst, max_wait = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('HMGET', KEYS[1], 'at', 'until')
local at = math.max(tonumber(kept[1] or '0') or 0, now)
local free = math.max(tonumber(kept[2] or '0') or 0, now)
local mine = math.max(at - (burst - 1) * interval, free)
local wait = mine - now
if wait > max_wait then
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
var pauseScript = redis.NewScript(`
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
var pausedScript = redis.NewScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local free = tonumber(redis.call('HGET', KEYS[1], 'until') or '0') or 0
return string.format('%.0f', math.max(free - now, 0))
`)

// unavailable reports whether Redis failed less than retryInterval ago. Afterwards
// it reports false to one caller, which tries again.
func (m *Limiters) unavailable() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.failing {
		return false
	}
	now := m.opt.Now()
	if now.Before(m.retryAt) {
		return true
	}
	m.retryAt = now.Add(retryInterval)
	return false
}

func (m *Limiters) failed(err error) {
	if errors.Is(err, errUnavailable) {
		return
	}
	m.mu.Lock()
	first := !m.failing
	m.failing, m.retryAt = true, m.opt.Now().Add(retryInterval)
	m.mu.Unlock()
	if first {
		m.opt.Log.Warn("redis failed, platform limits are per process", slog.Any("error", err))
	}
}

func (m *Limiters) recovered() {
	m.mu.Lock()
	back := m.failing
	m.failing, m.retryAt = false, time.Time{}
	m.mu.Unlock()
	if back {
		m.opt.Log.Info("redis recovered, platform limits are shared")
	}
}
