package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/store/driverlog"
)

// LogRedis sends what the Redis clients of this process say to a log. The library
// has one logger for all of them: only a program's main calls it, once.
func LogRedis(log *slog.Logger) {
	redis.SetLogger(driverlog.New(driverlog.Options{Driver: "redis", Log: log}))
}

// Redis makes a client of an address in one of the forms of REDIS_URL: redis://,
// rediss://, unix://, redis+sentinel://…?master=name, redis+cluster://, and the
// last two over TLS. It connects to nothing yet. Errors do not repeat the address.
func Redis(address string) (redis.UniversalClient, error) {
	kind, rest, found := strings.Cut(address, "://")
	scheme, form, _ := strings.Cut(kind, "+")
	known := scheme == "redis" || scheme == "rediss" || scheme == "unix" && form == ""
	switch {
	case found && known && form == "":
		options, err := redis.ParseURL(address)
		if err != nil {
			return nil, fmt.Errorf("REDIS_URL: cannot be read as the address of one server (%s)", scheme)
		}
		options.ContextTimeoutEnabled = true // a Redis that has stopped answering must not outlast a request's patience
		options.Dialer, options.DialerRetries = newDialer(options.TLSConfig, options.DialTimeout).Dial, max(options.DialerRetries, 1)
		return redis.NewClient(options), nil
	case found && known && (form == "sentinel" || form == "cluster"):
		options, err := many(rest, scheme == "rediss", form == "sentinel")
		if err != nil {
			return nil, fmt.Errorf("REDIS_URL: %w", err)
		}
		options.Dialer, options.DialerRetries = newDialer(options.TLSConfig, 0).Dial, 1
		return redis.NewUniversalClient(options), nil
	default:
		return nil, errors.New("REDIS_URL: must be redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
	}
}

// many reads the address of several servers.
func many(rest string, secure, sentinel bool) (*redis.UniversalOptions, error) {
	o := &redis.UniversalOptions{IsClusterMode: !sentinel, ContextTimeoutEnabled: true}
	// A URL has one host: the list is taken out before the rest is read as one.
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	user, hosts := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, hosts = authority[:at+1], authority[at+1:]
	}
	address, err := url.Parse("redis://" + user + "host" + rest[len(authority):])
	if err != nil {
		return nil, errors.New("cannot be read; write redis+cluster://user:password@host1:port,host2:port")
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if host == "" {
			return nil, errors.New("has an empty host; write host1:port,host2:port")
		}
		if !strings.Contains(host[strings.LastIndexByte(host, ']')+1:], ":") {
			host += ":" + map[bool]string{true: "26379", false: "6379"}[sentinel]
		}
		o.Addrs = append(o.Addrs, host)
	}
	if address.User != nil {
		o.Username = address.User.Username()
		o.Password, _ = address.User.Password()
	}
	if secure {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	query := address.Query()
	if sentinel {
		if o.MasterName = query.Get("master"); o.MasterName == "" {
			return nil, errors.New("needs the name of the Sentinels' master: ?master=name")
		}
		o.SentinelUsername, o.SentinelPassword = query.Get("sentinel_username"), query.Get("sentinel_password")
	}
	if path := strings.Trim(address.Path, "/"); path != "" {
		number, err := strconv.Atoi(path)
		if err != nil || number < 0 || !sentinel && number != 0 {
			return nil, errors.New("has a database that cannot be: a number with Sentinel, none with Cluster")
		}
		o.DB = number
	}
	for name := range query {
		if !sentinel || name != "master" && name != "sentinel_username" && name != "sentinel_password" {
			return nil, fmt.Errorf("has an unknown parameter %q", name)
		}
	}
	return o, nil
}
