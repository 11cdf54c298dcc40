package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/ingest/parse"
)

type benchParseCommand struct {
	Folders []string      `arg:"" optional:"" name:"folder" type:"path" help:"Folders of files to read; testdata/formats by default."`
	Least   time.Duration `default:"300ms" help:"How long each format is read at least."`
	Pages   int           `default:"200" help:"Pages of the PDF whose memory is measured."`
	Rows    int           `default:"100000" help:"Rows of the workbook whose memory is measured."`
}

// formatRate is how fast files of one format are read, on one core.
type formatRate struct {
	Format    string  `json:"format"`
	Files     int     `json:"files"`
	Bytes     int     `json:"bytes"`
	Documents float64 `json:"documentsPerSecond"`
	Megabytes float64 `json:"megabytesPerSecond"`
}

// footprint is what reading one large file costs a process of its own.
type footprint struct {
	What  string        `json:"what"`
	Bytes int64         `json:"bytes"`
	Took  time.Duration `json:"tookNanoseconds"`
	Peak  int64         `json:"peakMemoryBytes"`
}

type benchParseResult struct {
	Formats []formatRate `json:"formats"`
	Large   []footprint  `json:"large"`
}

// Run measures how fast each format is read, and the memory that two large files need.
func (c *benchParseCommand) Run(r *runtime) (err error) {
	if c.Pages < 1 || c.Rows < 1 || c.Least <= 0 {
		return errors.New("--pages, --rows and --least must be more than 0")
	}
	if len(c.Folders) == 0 {
		c.Folders = []string{filepath.Join("testdata", "formats")}
	}
	settings, err := r.settings(nil)
	if err != nil {
		return err
	}
	parser, err := wire.Parser(settings)
	if err != nil {
		return err // names the setting
	}
	defer func() { err = errors.Join(err, parser.Close()) }()
	var result benchParseResult
	// First, while this process is small: on Linux the peak of a child counts from what its parent has.
	if result.Large, err = c.large(r); err != nil {
		return err
	}
	byFormat, err := c.collect(r, parser)
	if err != nil {
		return err
	}
	for _, format := range slices.Sorted(maps.Keys(byFormat)) {
		measured, err := c.rate(r, parser, format, byFormat[format])
		if err != nil {
			return err
		}
		result.Formats = append(result.Formats, measured)
	}
	return r.console.Result(result, func() { result.print(r) })
}

// collect reads the files that can be read, by format.
func (c *benchParseCommand) collect(ctx context.Context, parser *parse.Parser) (map[string][]parse.Input, error) {
	found := make(map[string][]parse.Input)
	for _, folder := range c.Folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) == ".golden" {
				return err
			}
			content, err := os.ReadFile(path) //nolint:gosec // the caller's own folder
			if err != nil {
				return err
			}
			in := parse.Input{Name: filepath.Base(path), Content: content}
			if read, err := parser.Parse(ctx, in); err == nil {
				found[read.Format] = append(found[read.Format], in)
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, fmt.Errorf("read the files: %w", err)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no file that can be read in %s", filepath.Join(c.Folders...))
	}
	return found, nil
}

func (c *benchParseCommand) rate(ctx context.Context, parser *parse.Parser, format string, inputs []parse.Input) (formatRate, error) {
	measured := formatRate{Format: format, Files: len(inputs)}
	for _, in := range inputs {
		measured.Bytes += len(in.Content)
	}
	rounds := 0
	began := time.Now()
	for time.Since(began) < c.Least {
		for _, in := range inputs {
			if _, err := parser.Parse(ctx, in); err != nil {
				return measured, fmt.Errorf("%s: %w", in.Name, err)
			}
		}
		rounds++
	}
	seconds := time.Since(began).Seconds()
	measured.Documents = float64(rounds*len(inputs)) / seconds
	measured.Megabytes = float64(rounds) * float64(measured.Bytes) / seconds / 1e6
	return measured, nil
}

// large reads two large files, each in a process of its own.
func (c *benchParseCommand) large(r *runtime) (measured []footprint, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	folder, err := os.MkdirTemp("", "magpie-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	for _, file := range []struct {
		name, what string
		write      func(io.Writer) error
	}{
		{"small.md", "a page of text, for comparison", func(w io.Writer) error { _, err := io.WriteString(w, "# Page\n\nText.\n"); return err }},
		{"large.pdf", fmt.Sprintf("PDF of %d pages", c.Pages), func(w io.Writer) error { return writePDF(w, c.Pages) }},
		{"large.xlsx", fmt.Sprintf("workbook of %d rows, 10 columns", c.Rows), func(w io.Writer) error { return writeWorkbook(w, c.Rows) }},
	} {
		path := filepath.Join(folder, file.name)
		size, err := writeFile(path, file.write)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		child := exec.CommandContext(r, program, "parse", path) //nolint:gosec // this program
		child.Stdout, child.Stderr = io.Discard, r.streams.Err
		if err := child.Run(); err != nil {
			return nil, fmt.Errorf("read the %s: %w", file.what, err)
		}
		print := footprint{What: file.what, Bytes: size, Took: time.Since(began)}
		if usage, ok := child.ProcessState.SysUsage().(*syscall.Rusage); ok {
			print.Peak = usage.Maxrss * rssUnit
		}
		measured = append(measured, print)
	}
	return measured, nil
}

func writeFile(path string, write func(io.Writer) error) (size int64, err error) {
	file, err := os.Create(path) //nolint:gosec // in a folder of our own
	if err != nil {
		return 0, fmt.Errorf("make a file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := write(file); err != nil {
		return 0, fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	info, err := file.Stat()
	if err != nil {
		return 0, fmt.Errorf("measure a file: %w", err)
	}
	return info.Size(), nil
}

func (result *benchParseResult) print(r *runtime) {
	r.console.Printf("%-18s %6s %10s %12s %10s\n", "format", "files", "bytes", "documents/s", "MB/s")
	for _, f := range result.Formats {
		r.console.Printf("%-18s %6d %10d %12.0f %10.2f\n", f.Format, f.Files, f.Bytes, f.Documents, f.Megabytes)
	}
	r.console.Printf("\n%-36s %10s %10s %14s\n", "in a process of its own", "MB", "seconds", "peak memory MB")
	for _, f := range result.Large {
		r.console.Printf("%-36s %10.2f %10.2f %14.0f\n", f.What, float64(f.Bytes)/1e6, f.Took.Seconds(), float64(f.Peak)/1e6)
	}
}
