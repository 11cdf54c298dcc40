package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// prometheusTimeout bounds the start of the servers on a busy machine.
const prometheusTimeout = 90 * time.Second

// Prometheus is a Prometheus server with its Alertmanager for tests. The server
// scrapes itself every second and has one alert, Watchdog, which always fires. They
// end with this process at the latest, and their data is deleted.
type Prometheus struct {
	URL, AlertmanagerURL string

	children []*child
	folder   string
}

// StartPrometheus starts the servers and returns when they answer. They accept basic
// authentication by users, which maps names to passwords.
func StartPrometheus(ctx context.Context, users map[string]string) (*Prometheus, error) {
	folder, err := os.MkdirTemp("/tmp", "magpie-prometheus-")
	if err != nil {
		return nil, fmt.Errorf("create folder of Prometheus: %w", err)
	}
	p := &Prometheus{folder: folder}
	if err := p.start(ctx, users); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, p.Stop(cleanup))
	}
	return p, nil
}

func findPrometheus(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed; run scripts/setup.sh --tests", names[0])
}

func (p *Prometheus) start(ctx context.Context, users map[string]string) error {
	server, err := findPrometheus("prometheus")
	if err != nil {
		return err
	}
	manager, err := findPrometheus("prometheus-alertmanager", "alertmanager")
	if err != nil {
		return err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	managerAddress, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	p.URL, p.AlertmanagerURL = "http://"+address, "http://"+managerAddress
	user, password, web := "", "", "basic_auth_users:\n" //nolint:gosec // no credentials
	for name, secret := range users {
		hash, err := bcrypt.GenerateFromPassword([]byte(secret), bcrypt.MinCost)
		if err != nil {
			return fmt.Errorf("hash a password of Prometheus: %w", err)
		}
		user, password, web = name, secret, web+fmt.Sprintf("  %q: %q\n", name, hash)
	}
	for name, text := range map[string]string{
		"web.yml": web,
		"prometheus.yml": fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs: [{job_name: prometheus, basic_auth: {username: %[3]q, password: %[4]q}, static_configs: [{targets: [%[1]q]}]}]
alerting: {alertmanagers: [{basic_auth: {username: %[3]q, password: %[4]q}, static_configs: [{targets: [%[2]q]}]}]}
`, address, managerAddress, user, password),
		"rules.yml": `groups: [{name: test, rules: [{alert: Watchdog, expr: vector(1), labels: {severity: none}, annotations: {summary: An alert that always fires}}]}]
`,
		"alertmanager.yml": "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n",
	} {
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the settings of Prometheus: %w", err)
		}
	}
	file := func(name string) string { return filepath.Join(p.folder, name) }
	for _, s := range []struct {
		url, program string
		arguments    []string
	}{
		{p.AlertmanagerURL, manager, []string{
			"--config.file=" + file("alertmanager.yml"), "--web.config.file=" + file("web.yml"), "--storage.path=" + file("silences"),
			"--web.listen-address=" + managerAddress, "--cluster.listen-address=",
		}},
		{p.URL, server, []string{
			"--config.file=" + file("prometheus.yml"), "--web.config.file=" + file("web.yml"), "--storage.tsdb.path=" + file("metrics"),
			"--web.listen-address=" + address,
		}},
	} {
		child, err := startChild(file(filepath.Base(s.program)+".log"), nil, s.program, s.arguments...)
		if err != nil {
			return err
		}
		p.children = append(p.children, child)
		err = child.waitReady(ctx, prometheusTimeout, func(ctx context.Context) error { return ready(ctx, s.url+"/-/ready", user, password) })
		if err != nil {
			return err
		}
	}
	return nil
}

func ready(ctx context.Context, url, user, password string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask Prometheus: %w", err)
	}
	request.SetBasicAuth(user, password)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask Prometheus: %w", err)
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("ask Prometheus: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask Prometheus: status %d", response.StatusCode)
	}
	return nil
}

// Stop stops the servers and removes their folder.
func (p *Prometheus) Stop(ctx context.Context) error {
	var all error
	for _, child := range p.children {
		all = errors.Join(all, child.stop(ctx))
	}
	if all != nil {
		return all
	}
	if err := os.RemoveAll(p.folder); err != nil {
		return fmt.Errorf("remove the folder of Prometheus: %w", err)
	}
	return nil
}
