package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// An engine is compiled pdfium, from which instances are made.
type engine struct {
	pool       pdfium.Pool
	closeCache func() error // closes the cache on disk, if there is one

	lock   sync.Mutex // held while an instance is made, so that memory is that of the instance
	memory *memory
}

// newEngine compiles pdfium, or loads it from the cache. A damaged cache is rebuilt, an unusable one is not used.
func newEngine(ctx context.Context, opt Options) (*engine, error) {
	if opt.CacheDir == "" {
		return compile(ctx, nil, opt)
	}
	if made, err := compileInto(ctx, opt); err == nil {
		return made, nil
	}
	if err := emptyCache(opt.CacheDir); err == nil {
		if made, err := compileInto(ctx, opt); err == nil {
			return made, nil
		}
	}
	return compile(ctx, nil, opt)
}

// compileInto is compile with the cache on disk.
func compileInto(ctx context.Context, opt Options) (*engine, error) {
	if err := os.MkdirAll(opt.CacheDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the cache of pdfium: %w", err)
	}
	cache, err := wazero.NewCompilationCacheWithDir(opt.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("open the cache of pdfium: %w", err)
	}
	made, err := compile(ctx, cache, opt)
	if err != nil {
		return nil, errors.Join(err, cache.Close(ctx))
	}
	return made, nil
}

// emptyCache removes the folders that wazero makes in its cache.
func emptyCache(dir string) error {
	folders, err := filepath.Glob(filepath.Join(dir, "wazero-*"))
	if err != nil {
		return fmt.Errorf("empty the cache of pdfium: %w", err)
	}
	for _, folder := range folders {
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("empty the cache of pdfium: %w", err)
		}
	}
	return nil
}

func compile(ctx context.Context, cache wazero.CompilationCache, opt Options) (*engine, error) {
	e := &engine{closeCache: func() error { return nil }}
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true)
	if cache != nil {
		config = config.WithCompilationCache(cache)
		e.closeCache = func() error { return cache.Close(ctx) }
	}
	allocator := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		e.memory = &memory{limit: uint64(opt.MaxMemory)} //nolint:gosec // positive
		return e.memory
	})
	pool, err := webassembly.Init(webassembly.Config{
		Context:       experimental.WithMemoryAllocator(ctx, allocator),
		MaxTotal:      opt.Instances,
		RuntimeConfig: config,
		FSConfig:      wazero.NewFSConfig(), // no access to the file system
		Stdout:        io.Discard,
		Stderr:        io.Discard,
	})
	if err != nil {
		return nil, fmt.Errorf("start pdfium: %w", err)
	}
	e.pool = pool
	return e, nil
}

func (e *engine) close() error {
	if err := errors.Join(e.pool.Close(), e.closeCache()); err != nil {
		return fmt.Errorf("close pdfium: %w", err)
	}
	return nil
}

// instance returns a new instance. The caller must discard it.
func (e *engine) instance(ctx context.Context) (*instance, error) {
	e.lock.Lock()
	defer e.lock.Unlock()
	made, err := e.pool.GetInstanceWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("start an instance of pdfium: %w", err)
	}
	i := &instance{pdfium: made, memory: e.memory, functions: make(map[string]api.Function), names: make(map[string]uint64)}
	if i.module = moduleOf(made); i.module == nil {
		return nil, errors.Join(errors.New("start an instance of pdfium: its module is not to be found"), made.Kill())
	}
	if i.scratch = i.call(ctx, "malloc", scratchSize); i.scratch == 0 {
		err := i.failure(ctx)
		i.discard()
		return nil, fmt.Errorf("start an instance of pdfium: %w", err)
	}
	return i, nil
}

// moduleOf returns the module of an instance, or nil. The calls of go-pdfium allocate memory for every number that they
// return, which takes longer than pdfium itself for a page of glyphs. The type that has the module is internal, but its
// field is exported.
func moduleOf(made pdfium.Pdfium) api.Module {
	value := reflect.ValueOf(made.GetImplementation())
	if value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
		return nil
	}
	field := value.Elem().FieldByName("Module")
	if !field.IsValid() || !field.CanInterface() {
		return nil
	}
	module, _ := field.Interface().(api.Module)
	return module
}
