package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/store/driverlog"
	"github.com/magpie-search/magpie/internal/tracing/redistrace"
)

// slotsInterval is the age at which a client of a Cluster loads the map of slots
// again. A master that died or hangs cannot redirect its clients to its successor, so they
// learn of it from the map only. The default of the library is a minute.
const slotsInterval = time.Second

// replyTimeout is the time that one of several servers has to answer. The queue has
// commands without a deadline, which are tried four times. The default of the library
// is 5 s, so that they would wait for 20 s for a master that hangs.
const replyTimeout = 2 * time.Second

// LogRedis sets the log of all Redis clients. The library has one global logger, so
// only main calls it.
func LogRedis(log *slog.Logger) {
	redis.SetLogger(driverlog.New(driverlog.Options{Driver: "redis", Log: log}))
}

// Redis returns a client for an address in a form of REDIS_URL: redis://, rediss://,
// unix://, redis+sentinel://…?master=name or redis+cluster://, the last two also as
// rediss+. It does not connect yet. Errors do not contain the address.
func Redis(address string) (redis.UniversalClient, error) {
	kind, location, found := strings.Cut(address, "://")
	scheme, form, _ := strings.Cut(kind, "+")
	known := scheme == "redis" || scheme == "rediss" || scheme == "unix" && form == ""
	switch {
	case found && known && form == "":
		options, err := redis.ParseURL(address)
		if err != nil {
			return nil, fmt.Errorf("REDIS_URL: malformed address of a server (%s)", scheme)
		}
		options.ContextTimeoutEnabled = true // an unresponsive Redis must not delay requests beyond their deadline
		options.Dialer, options.DialerRetries = newDialer(options.TLSConfig, options.DialTimeout).Dial, max(options.DialerRetries, 1)
		return traced(redis.NewClient(options)), nil
	case found && known && (form == "sentinel" || form == "cluster"):
		options, err := parseServers(location, scheme == "rediss", form == "sentinel")
		if err != nil {
			return nil, fmt.Errorf("REDIS_URL: %w", err)
		}
		options.Dialer, options.DialerRetries = newDialer(options.TLSConfig, 0).Dial, 1
		if form == "cluster" {
			cluster := options.Cluster()
			cluster.ClusterStateReloadInterval = slotsInterval
			return traced(redis.NewClusterClient(cluster)), nil
		}
		return traced(redis.NewUniversalClient(options)), nil
	default:
		return nil, errors.New("REDIS_URL: must be redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
	}
}

// traced adds spans to a client's commands in traces.
func traced(client redis.UniversalClient) redis.UniversalClient {
	client.AddHook(redistrace.Hook{})
	return client
}

// parseServers parses the addresses of several servers.
func parseServers(location string, secure, sentinel bool) (*redis.UniversalOptions, error) {
	o := &redis.UniversalOptions{IsClusterMode: !sentinel, ContextTimeoutEnabled: true, ReadTimeout: replyTimeout}
	// Replace the list of hosts by one, since a URL has one host.
	authority := location
	if end := strings.IndexAny(location, "/?#"); end >= 0 {
		authority = location[:end]
	}
	user, hosts := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, hosts = authority[:at+1], authority[at+1:]
	}
	address, err := url.Parse("redis://" + user + "host" + location[len(authority):])
	if err != nil {
		return nil, errors.New("malformed; write redis+cluster://user:password@host1:port,host2:port")
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
			return nil, errors.New("requires the name of the master: ?master=name")
		}
		o.SentinelUsername, o.SentinelPassword = query.Get("sentinel_username"), query.Get("sentinel_password")
	}
	if path := strings.Trim(address.Path, "/"); path != "" {
		number, err := strconv.Atoi(path)
		if err != nil || number < 0 || !sentinel && number != 0 {
			return nil, errors.New("has an invalid database: use a number with Sentinel and none with Cluster")
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
