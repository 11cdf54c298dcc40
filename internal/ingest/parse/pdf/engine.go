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

// engine is pdfium as machine code, of which instances are made.
type engine struct {
	pool    pdfium.Pool
	uncache func() error // gives back the cache on disk, if there is one

	making sync.Mutex // held while an instance is made: its memory is the last that was asked for
	memory *memory
}

// newEngine compiles pdfium, or takes what is in the cache. A cache that is damaged is made anew, one that cannot be used is
// done without.
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
	e := &engine{uncache: func() error { return nil }}
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true)
	if cache != nil {
		config = config.WithCompilationCache(cache)
		e.uncache = func() error { return cache.Close(ctx) }
	}
	allocator := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		e.memory = &memory{limit: uint64(opt.MaxMemory)} //nolint:gosec // positive
		return e.memory
	})
	pool, err := webassembly.Init(webassembly.Config{
		Context:       experimental.WithMemoryAllocator(ctx, allocator),
		MaxTotal:      opt.Instances,
		RuntimeConfig: config,
		FSConfig:      wazero.NewFSConfig(), // no folder of the machine is to be seen inside
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
	if err := errors.Join(e.pool.Close(), e.uncache()); err != nil {
		return fmt.Errorf("close pdfium: %w", err)
	}
	return nil
}

// instance makes an instance. Discard it after use.
func (e *engine) instance(ctx context.Context) (*instance, error) {
	e.making.Lock()
	defer e.making.Unlock()
	made, err := e.pool.GetInstanceWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("start an instance of pdfium: %w", err)
	}
	i := &instance{pdfium: made, used: e.memory, functions: make(map[string]api.Function), names: make(map[string]uint64)}
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

// moduleOf returns the module behind an instance, nil when it is not where it should be. The calls that go-pdfium wraps
// around it make and free memory for every number they return, which for a page of glyphs takes longer than pdfium does;
// its type is internal, its field is not.
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
