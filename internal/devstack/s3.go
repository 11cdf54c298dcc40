package devstack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	s3Package = "github.com/versity/versitygw/cmd/versitygw"
	s3Region  = "us-east-1"
	s3Health  = "/health"
	// Another process may bind a free port before the server does.
	s3Attempts = 3
)

// S3Options configures an S3 server. Only Dir is required.
type S3Options struct {
	// Dir is the data folder, which is created when missing. Buckets survive a restart.
	Dir string
	// Program is the path of the server program. When empty, BuildS3 builds it from the checkout of the working directory.
	Program string
}

// S3 is a running S3 server, which ends with this process at the latest.
type S3 struct {
	// Endpoint is the base URL, on 127.0.0.1.
	Endpoint string
	// AccessKey and SecretKey have all privileges. They are new at each start.
	AccessKey, SecretKey string
	// Region is the region for request signatures.
	Region string

	objects string // the folder of the buckets
	child   *child
}

// StartS3 starts an S3 server and returns when it answers.
func StartS3(ctx context.Context, o S3Options) (*S3, error) {
	if o.Dir == "" {
		return nil, errors.New("s3 server: no data folder")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("s3 server: data folder %s: %w", o.Dir, err)
	}
	if o.Program == "" {
		root, err := ModuleRoot()
		if err != nil {
			return nil, err
		}
		if o.Program, err = BuildS3(ctx, root); err != nil {
			return nil, err
		}
	}
	// Attributes of objects are files, since not every file system has extended attributes.
	objects, attributes := filepath.Join(dir, "objects"), filepath.Join(dir, "attributes")
	for _, folder := range []string{objects, attributes} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("create folder of the s3 server: %w", err)
		}
	}
	var failure error
	for range s3Attempts {
		address, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		s := &S3{Endpoint: "http://" + address, AccessKey: rand.Text()[:20], SecretKey: rand.Text() + rand.Text()[:14], Region: s3Region, objects: objects}
		s.child, err = startChild(filepath.Join(dir, "server.log"),
			[]string{"ROOT_ACCESS_KEY=" + s.AccessKey, "ROOT_SECRET_KEY=" + s.SecretKey},
			o.Program, "--port", address, "--region", s3Region, "--health", s3Health, "--quiet",
			"posix", "--sidecar", attributes, objects)
		if err != nil {
			return nil, err
		}
		failure = s.child.waitReady(ctx, childTimeout, s.ping)
		if failure == nil {
			return s, nil
		}
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		err = s.child.stop(cleanup)
		cancel()
		if err != nil || ctx.Err() != nil {
			return nil, errors.Join(failure, err)
		}
	}
	return nil, failure
}

func (s *S3) ping(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+s3Health, nil)
	if err != nil {
		return fmt.Errorf("ping the s3 server: %w", err)
	}
	// Without keep-alive, no idle connection and its goroutines remain.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ping the s3 server: %w", err)
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("ping the s3 server: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the s3 server answers with status %s", response.Status)
	}
	return nil
}

// MakeBucket creates a bucket unless it exists.
func (s *S3) MakeBucket(name string) error {
	// Each folder of objects is a bucket.
	if err := os.MkdirAll(filepath.Join(s.objects, name), 0o700); err != nil {
		return fmt.Errorf("create bucket: %w", err)
	}
	return nil
}

// Stop stops the server. The objects stay.
func (s *S3) Stop(ctx context.Context) error { return s.child.stop(ctx) }

// freeAddress returns a TCP address on the loopback interface whose port is free.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return address, nil
}

// ModuleRoot returns the folder of Magpie's go.mod at or above the working directory.
func ModuleRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for {
		content, err := os.ReadFile(filepath.Join(folder, "go.mod")) //nolint:gosec // the name is constant
		if err == nil && strings.HasPrefix(string(content), "module github.com/magpie-search/magpie\n") {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("the working directory is not inside a checkout of Magpie")
		}
		folder = parent
	}
}

// BuildS3 builds the S3 server of the checkout at root and returns the path of the program. The first build takes about
// half a minute. The program stays in .magpie/bin under a name derived from its go.mod and go.sum. Concurrent calls wait.
func BuildS3(ctx context.Context, root string) (string, error) {
	source := filepath.Join(root, "internal", "tools", "s3server")
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(source, name)) //nolint:gosec // files of the checkout
		if err != nil {
			return "", fmt.Errorf("read the module of the s3 server: %w", err)
		}
		sum.Write(content)
	}
	folder := filepath.Join(root, ".magpie", "bin")
	program := filepath.Join(folder, "s3server-"+hex.EncodeToString(sum.Sum(nil)[:6]))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // programs are not secret
		return "", fmt.Errorf("create folder of programs: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(folder, "s3server.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	unfinished := program + ".new"
	build := exec.CommandContext(ctx, "go", "build", "-o", unfinished, s3Package) //nolint:gosec // a constant package
	build.Dir = source
	build.Env = append(build.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the s3 server: %w\n%s", err, output)
	}
	if err := os.Rename(unfinished, program); err != nil {
		return "", fmt.Errorf("rename the s3 server: %w", err)
	}
	return program, removeOlder(program)
}

// removeOlder removes the programs of other versions.
func removeOlder(program string) error {
	others, err := filepath.Glob(filepath.Join(filepath.Dir(program), "s3server-*"))
	if err != nil {
		return fmt.Errorf("find older s3 servers: %w", err)
	}
	for _, other := range others {
		if other == program {
			continue
		}
		if err := os.Remove(other); err != nil {
			return fmt.Errorf("remove older s3 server: %w", err)
		}
	}
	return nil
}
