package devstack

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clickHouseTimeout bounds the start of a server on a busy machine.
const clickHouseTimeout = 90 * time.Second

// ClickHouseUser is a user of a ClickHouse server for tests.
type ClickHouseUser struct {
	Name, Password string
	// Readonly is the setting readonly of its profile: 0, 1 or 2.
	Readonly int
	// Databases are those that the user may use. Without any: all.
	Databases []string
}

// ClickHouse is a ClickHouse server for tests. It ends with this process at the
// latest, and its data is deleted.
type ClickHouse struct {
	// Host and Port are the address of the HTTP interface on the loopback
	// interface. NativePort is that of clickhouse-client.
	Host             string
	Port, NativePort int

	child  *child
	folder string
}

// StartClickHouse starts a ClickHouse server with users and returns when it answers.
func StartClickHouse(ctx context.Context, users []ClickHouseUser) (*ClickHouse, error) {
	program, err := findClickHouse()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("/tmp", "magpie-clickhouse-")
	if err != nil {
		return nil, fmt.Errorf("create folder of ClickHouse: %w", err)
	}
	c := &ClickHouse{Host: "127.0.0.1", folder: folder}
	if err := c.start(ctx, program, users); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, c.Stop(cleanup))
	}
	return c, nil
}

func findClickHouse() (string, error) {
	for _, folder := range []string{"", "/usr/sbin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"} {
		if path, err := exec.LookPath(folder + "clickhouse-server"); err == nil {
			return path, nil
		}
	}
	return "", errors.New("ClickHouse is not installed (clickhouse-server was not found); run scripts/setup.sh --tests")
}

func (c *ClickHouse) start(ctx context.Context, program string, users []ClickHouseUser) error {
	for _, port := range []*int{&c.Port, &c.NativePort} {
		address, err := freeAddress(ctx)
		if err != nil {
			return err
		}
		_, text, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		if *port, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
	}
	file := func(name string) string { return filepath.Join(c.folder, name) }
	config := fmt.Sprintf(`<yandex><logger><level>warning</level><log>%[1]s/server.log</log><errorlog>%[1]s/error.log</errorlog></logger>
<listen_host>%[2]s</listen_host><http_port>%[3]d</http_port><tcp_port>%[4]d</tcp_port><interserver_http_port>0</interserver_http_port>
<max_connections>64</max_connections><uncompressed_cache_size>0</uncompressed_cache_size><mark_cache_size>16777216</mark_cache_size>
<path>%[1]s/data/</path><tmp_path>%[1]s/tmp/</tmp_path><user_files_path>%[1]s/files/</user_files_path><timezone>UTC</timezone>
<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database></yandex>
`, c.folder, c.Host, c.Port, c.NativePort)
	for name, text := range map[string]string{"config.xml": config, "users.xml": clickHouseUsers(users)} {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the settings of ClickHouse: %w", err)
		}
	}
	var err error
	if c.child, err = startChild(file("output.log"), nil, program, "--config-file="+file("config.xml")); err != nil {
		return err
	}
	return c.child.waitReady(ctx, clickHouseTimeout, c.ping)
}

// clickHouseUsers returns the file of users, each with a profile of its own.
func clickHouseUsers(users []ClickHouseUser) string {
	var profiles, entries strings.Builder
	for _, user := range users {
		fmt.Fprintf(&profiles, "<of_%s><readonly>%d</readonly></of_%[1]s>", user.Name, user.Readonly)
		fmt.Fprintf(&entries, "<%[1]s><password>%[2]s</password><networks><ip>127.0.0.1</ip></networks><profile>of_%[1]s</profile><quota>default</quota>", user.Name, escapeXML(user.Password))
		if len(user.Databases) > 0 {
			entries.WriteString("<allow_databases>")
			for _, database := range user.Databases {
				fmt.Fprintf(&entries, "<database>%s</database>", escapeXML(database))
			}
			entries.WriteString("</allow_databases>")
		}
		fmt.Fprintf(&entries, "</%s>", user.Name)
	}
	return fmt.Sprintf("<yandex><profiles><default/>%s</profiles><users>%s</users><quotas><default/></quotas></yandex>\n", &profiles, &entries)
}

func escapeXML(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a Builder never fails
	return out.String()
}

func (c *ClickHouse) ping(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d/ping", c.Host, c.Port), http.NoBody)
	if err != nil {
		return fmt.Errorf("ask ClickHouse: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask ClickHouse: %w", err)
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("ask ClickHouse: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask ClickHouse: status %d", response.StatusCode)
	}
	return nil
}

// Stop stops the server and removes its folder.
func (c *ClickHouse) Stop(ctx context.Context) error {
	if c.child != nil {
		if err := c.child.stop(ctx); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(c.folder); err != nil {
		return fmt.Errorf("remove the folder of ClickHouse: %w", err)
	}
	return nil
}
