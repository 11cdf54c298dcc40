package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// FailureAfter is the time without an answer after which the servers of a RedisGroup
	// take another one for dead.
	FailureAfter = 2 * time.Second

	masterName    = "magpie"
	slots         = 16384
	groupTimeout  = time.Minute
	sentinelCount = 3
	masterCount   = 3
)

// RedisGroup is several Redis servers without persistence that replace a dead master: a
// Cluster of three masters with a replica each, or a master and a replica under three
// Sentinels. They listen on the loopback interface and end with this process at the latest.
type RedisGroup struct {
	// URL is an address in a form of REDIS_URL.
	URL string

	program   string
	folder    string
	servers   []*redisNode
	sentinels []*redisNode
}

// StartRedisCluster starts a Cluster and returns when every server serves it.
func StartRedisCluster(ctx context.Context) (*RedisGroup, error) {
	return startRedisGroup(ctx, (*RedisGroup).startCluster)
}

// StartRedisSentinels starts a master, a replica and three Sentinels, and returns when the
// Sentinels know both servers and each other.
func StartRedisSentinels(ctx context.Context) (*RedisGroup, error) {
	return startRedisGroup(ctx, (*RedisGroup).startSentinels)
}

func startRedisGroup(ctx context.Context, start func(*RedisGroup, context.Context) error) (*RedisGroup, error) {
	program, err := findRedis()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "magpie-redis-")
	if err != nil {
		return nil, fmt.Errorf("create folder of redis: %w", err)
	}
	g := &RedisGroup{program: program, folder: folder}
	limit, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	if err := start(g, limit); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, g.Stop(cleanup))
	}
	return g, nil
}

func (g *RedisGroup) startCluster(ctx context.Context) error {
	milliseconds := strconv.FormatInt(FailureAfter.Milliseconds(), 10)
	for range 2 * masterCount {
		// Replicas are filled at once, which by default waits 5 s for further ones.
		if err := g.addServer(ctx, true, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
			"--cluster-node-timeout", milliseconds, "--repl-diskless-sync-delay", "0"); err != nil {
			return err
		}
	}
	addresses := make([]string, len(g.servers))
	for i, n := range g.servers {
		addresses[i] = n.address
		err := n.do(ctx, func(ctx context.Context, c *redis.Client) error {
			// Masters with the same epoch would first have to agree on new ones.
			if err := c.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil || i >= masterCount {
				return err
			}
			return c.ClusterAddSlotsRange(ctx, i*slots/masterCount, (i+1)*slots/masterCount-1).Err()
		})
		if err != nil {
			return fmt.Errorf("form the cluster: %w", err)
		}
	}
	first := g.servers[0]
	host, port, err := net.SplitHostPort(first.address)
	if err != nil {
		return fmt.Errorf("form the cluster: %w", err)
	}
	for _, n := range g.servers[1:] {
		if err := n.do(ctx, func(ctx context.Context, c *redis.Client) error {
			return c.Do(ctx, "CLUSTER", "MEET", host, port, first.bus).Err()
		}); err != nil {
			return fmt.Errorf("form the cluster: %w", err)
		}
	}
	for i, n := range g.servers[masterCount:] {
		if err := g.replicate(ctx, n, g.servers[i]); err != nil {
			return err
		}
	}
	for _, n := range g.servers {
		if err := n.wait(ctx, "a complete cluster", isComplete); err != nil {
			return err
		}
	}
	g.URL = "redis+cluster://" + strings.Join(addresses[:masterCount], ",")
	return nil
}

// replicate makes n a replica of master once n knows it.
func (g *RedisGroup) replicate(ctx context.Context, n, master *redisNode) error {
	var id string
	if err := master.do(ctx, func(ctx context.Context, c *redis.Client) (err error) {
		id, err = c.ClusterMyID(ctx).Result()
		return err
	}); err != nil {
		return fmt.Errorf("form the cluster: %w", err)
	}
	return n.wait(ctx, "its master", func(ctx context.Context, c *redis.Client) error { return c.ClusterReplicate(ctx, id).Err() })
}

// isComplete checks that a server sees all slots served by masters with a replica each.
func isComplete(ctx context.Context, c *redis.Client) error {
	info, err := c.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "cluster_state:ok") {
		return errors.New("its state is not ok")
	}
	found, err := slotsOf(ctx, c)
	if err != nil {
		return err
	}
	for _, part := range found {
		if len(part.Nodes) != 2 {
			return fmt.Errorf("the slots from %d have %d servers", part.Start, len(part.Nodes))
		}
	}
	if len(found) != masterCount {
		return fmt.Errorf("the slots have %d masters", len(found))
	}
	return isReplicated(ctx, c)
}

// slotsOf returns which servers serve which slots.
func slotsOf(ctx context.Context, c *redis.Client) ([]redis.ClusterSlot, error) {
	return c.ClusterSlots(ctx).Result() //nolint:staticcheck // its successor needs Redis 7
}

// isReplicated checks that the replica of a master, or a replica itself, has all data.
func isReplicated(ctx context.Context, c *redis.Client) error {
	info, err := c.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "state=online") && !strings.Contains(info, "master_link_status:up") {
		return errors.New("there is no replication")
	}
	return nil
}

func (g *RedisGroup) startSentinels(ctx context.Context) error {
	if err := g.addServer(ctx, false, "--repl-diskless-sync-delay", "0"); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(g.servers[0].address)
	if err != nil {
		return fmt.Errorf("start sentinels: %w", err)
	}
	if err := g.addServer(ctx, false, "--repl-diskless-sync-delay", "0", "--replicaof", host, port); err != nil {
		return err
	}
	for _, n := range g.servers {
		if err := n.wait(ctx, "the replication", isReplicated); err != nil {
			return err
		}
	}
	addresses := make([]string, 0, sentinelCount)
	for i := range sentinelCount {
		folder := filepath.Join(g.folder, "sentinel-"+strconv.Itoa(i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return fmt.Errorf("create folder of a sentinel: %w", err)
		}
		settings := filepath.Join(folder, "sentinel.conf") // it is rewritten by the Sentinel
		milliseconds := strconv.FormatInt(FailureAfter.Milliseconds(), 10)
		content := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s 2\nsentinel down-after-milliseconds %[1]s %[4]s\nsentinel failover-timeout %[1]s 5000\n",
			masterName, host, port, milliseconds)
		if err := os.WriteFile(settings, []byte(content), 0o600); err != nil {
			return fmt.Errorf("write the settings of a sentinel: %w", err)
		}
		n := &redisNode{folder: folder, program: g.program, arguments: []string{settings, "--sentinel"}}
		if err := n.startAnywhere(ctx, false); err != nil {
			return err
		}
		g.sentinels = append(g.sentinels, n)
		addresses = append(addresses, n.address)
	}
	for _, n := range g.sentinels {
		if err := n.wait(ctx, "the other sentinels", knowsAll); err != nil {
			return err
		}
	}
	g.URL = "redis+sentinel://" + strings.Join(addresses, ",") + "/0?master=" + masterName
	return nil
}

// knowsAll checks that a Sentinel knows the replica and the other Sentinels.
func knowsAll(ctx context.Context, c *redis.Client) error {
	command := redis.NewMapStringStringCmd(ctx, "sentinel", "master", masterName)
	if err := c.Process(ctx, command); err != nil {
		return err
	}
	for name, want := range map[string]int{"num-slaves": 1, "num-other-sentinels": sentinelCount - 1} {
		if found := command.Val()[name]; found != strconv.Itoa(want) {
			return fmt.Errorf("%s is %s, not %d", name, found, want)
		}
	}
	return nil
}

// addServer starts a further server.
func (g *RedisGroup) addServer(ctx context.Context, isCluster bool, arguments ...string) error {
	folder := filepath.Join(g.folder, "server-"+strconv.Itoa(len(g.servers)))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return fmt.Errorf("create folder of redis: %w", err)
	}
	n := &redisNode{folder: folder, program: g.program, arguments: append([]string{
		"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
	}, arguments...)}
	if err := n.startAnywhere(ctx, isCluster); err != nil {
		return err
	}
	g.servers = append(g.servers, n)
	return nil
}

// Master returns the address of the master that serves a key at present, as a living
// server or Sentinel sees it.
func (g *RedisGroup) Master(ctx context.Context, key string) (string, error) {
	var failures []error
	for _, n := range append(slices.Clone(g.sentinels), g.servers...) {
		var address string
		err := n.do(ctx, func(ctx context.Context, c *redis.Client) (err error) {
			if len(g.sentinels) > 0 {
				address, err = masterBySentinel(ctx, c)
			} else {
				address, err = masterInCluster(ctx, c, key)
			}
			return err
		})
		if err == nil {
			return address, nil
		}
		failures = append(failures, err)
	}
	return "", fmt.Errorf("find the master of redis: %w", errors.Join(failures...))
}

func masterBySentinel(ctx context.Context, c *redis.Client) (string, error) {
	command := redis.NewStringSliceCmd(ctx, "sentinel", "get-master-addr-by-name", masterName)
	if err := c.Process(ctx, command); err != nil {
		return "", err
	}
	return strings.Join(command.Val(), ":"), nil
}

func masterInCluster(ctx context.Context, c *redis.Client, key string) (string, error) {
	slot, err := c.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return "", err
	}
	found, err := slotsOf(ctx, c)
	if err != nil {
		return "", err
	}
	for _, part := range found {
		if int64(part.Start) <= slot && slot <= int64(part.End) && len(part.Nodes) > 0 {
			return part.Nodes[0].Addr, nil
		}
	}
	return "", fmt.Errorf("nobody serves slot %d", slot)
}

// Subscribers returns the number of connections that listen to a channel, over all living
// servers.
func (g *RedisGroup) Subscribers(ctx context.Context, channel string) (int, error) {
	total, failures := 0, []error(nil)
	for _, n := range g.servers {
		err := n.do(ctx, func(ctx context.Context, c *redis.Client) error {
			counts, err := c.PubSubNumSub(ctx, channel).Result()
			total += int(counts[channel])
			return err
		})
		if err != nil {
			failures = append(failures, err)
		}
	}
	if len(failures) == len(g.servers) {
		return 0, fmt.Errorf("count subscribers: %w", errors.Join(failures...))
	}
	return total, nil
}

// Kill kills the server with an address (SIGKILL).
func (g *RedisGroup) Kill(ctx context.Context, address string) error {
	n, err := g.find(address)
	if err != nil {
		return err
	}
	return n.kill(ctx)
}

// Hang makes the server with an address hang (SIGSTOP): its connections stay open, further
// ones are accepted, and nothing is answered.
func (g *RedisGroup) Hang(ctx context.Context, address string) error {
	n, err := g.find(address)
	if err != nil {
		return err
	}
	return n.hang(ctx)
}

// Continue ends Hang (SIGCONT). The server may believe for some time that it is still a
// master.
func (g *RedisGroup) Continue(ctx context.Context, address string) error {
	n, err := g.find(address)
	if err != nil {
		return err
	}
	return n.proceed(ctx)
}

// Restart starts the server with an address again after Kill, without its data. It returns
// when the server is a replica that has the data of the present master.
func (g *RedisGroup) Restart(ctx context.Context, address string) error {
	n, err := g.find(address)
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	if err := n.start(limit); err != nil {
		return err
	}
	return g.AwaitReplica(limit, address)
}

// AwaitReplica returns when the server with an address is a replica that has the data of
// the present master.
func (g *RedisGroup) AwaitReplica(ctx context.Context, address string) error {
	n, err := g.find(address)
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	return n.wait(limit, "its master", func(ctx context.Context, c *redis.Client) error {
		info, err := c.Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			return errors.New("it is no replica with all data")
		}
		return err
	})
}

func (g *RedisGroup) find(address string) (*redisNode, error) {
	for _, n := range g.servers {
		if n.address == address {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no server has the address %s", address)
}

// Stop stops the servers and removes their folder.
func (g *RedisGroup) Stop(ctx context.Context) error {
	var all error
	for _, n := range append(slices.Clone(g.sentinels), g.servers...) {
		all = errors.Join(all, n.child.stop(ctx))
	}
	if all != nil {
		return all
	}
	if err := os.RemoveAll(g.folder); err != nil {
		return fmt.Errorf("remove the folder of redis: %w", err)
	}
	return nil
}
