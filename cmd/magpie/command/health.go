package command

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// healthTimeout bounds the question; the check of a container has a limit of its own.
const healthTimeout = 5 * time.Second

type healthCommand struct {
	Worker bool `help:"Ask the worker, at WORKER_LISTEN_ADDR."`
}

// Run asks a process on this machine whether it is ready, and fails if it is not.
func (h healthCommand) Run(r *runtime) error {
	c, err := r.settings(nil)
	if err != nil {
		return err
	}
	address := c.ListenAddr
	if h.Worker {
		if err := c.Require("WORKER_LISTEN_ADDR"); err != nil {
			return err
		}
		address = c.WorkerListenAddr
	}
	address, err = localAddress(address)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(r, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("ask %s: %w", address, err)
	}
	client := &http.Client{Timeout: healthTimeout, Transport: &http.Transport{DisableKeepAlives: true}} // without a proxy
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not ready: %s", address, strings.TrimSpace(string(body)))
	}
	return r.console.Result(map[string]string{"status": "ready"}, func() { r.console.Note("Ready.") })
}

// localAddress returns where a process that listens at an address is reached from
// its own machine.
func localAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("read the address %s: %w", listen, err)
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}
