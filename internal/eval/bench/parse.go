package bench

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

	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/ingest/parse"
)

// ParseOptions configures Parse.
type ParseOptions struct {
	Folders     []string      // of the files to parse
	MinDuration time.Duration // of the measurement of a format
	Pages       int           // of the large PDF
	Rows        int           // of the large workbook
	// Program is this program. `parse FILE` parses a file in a process of its own,
	// whose messages go to Messages.
	Program  string
	Messages io.Writer
}

// ParseResult is the result of Parse.
type ParseResult struct {
	Formats []FormatRate `json:"formats"`
	Large   []ParseCost  `json:"large"`
}

// A FormatRate is the rate at which one core parses the files of a format.
type FormatRate struct {
	Format    string  `json:"format"`
	Files     int     `json:"files"`
	Bytes     int     `json:"bytes"`
	Documents float64 `json:"documentsPerSecond"`
	Megabytes float64 `json:"megabytesPerSecond"`
}

// A ParseCost is the cost of parsing one file in a process of its own.
type ParseCost struct {
	What    string        `json:"what"`
	Bytes   int64         `json:"bytes"`
	Elapsed time.Duration `json:"tookNanoseconds"`
	Peak    int64         `json:"peakMemoryBytes"`
}

// Parse measures how fast each format is parsed, and the memory of two large files.
func Parse(ctx context.Context, parser *parse.Parser, o ParseOptions) (*ParseResult, error) {
	var result ParseResult
	var err error
	// On Linux the peak memory of a child counts from that of its parent, so the
	// large files come first, while this process is small.
	if result.Large, err = parseLarge(ctx, o); err != nil {
		return nil, err
	}
	inputs, err := readInputs(ctx, parser, o.Folders)
	if err != nil {
		return nil, err
	}
	for _, format := range slices.Sorted(maps.Keys(inputs)) {
		rate, err := measureFormat(ctx, parser, format, inputs[format], o.MinDuration)
		if err != nil {
			return nil, err
		}
		result.Formats = append(result.Formats, rate)
	}
	return &result, nil
}

// readInputs reads the files that can be parsed, by format.
func readInputs(ctx context.Context, parser *parse.Parser, folders []string) (map[string][]parse.Input, error) {
	inputs := make(map[string][]parse.Input)
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) == ".golden" {
				return err
			}
			content, err := os.ReadFile(path) //nolint:gosec // a file of the given folder
			if err != nil {
				return err
			}
			in := parse.Input{Name: filepath.Base(path), Content: content}
			if parsed, err := parser.Parse(ctx, in); err == nil {
				inputs[parsed.Format] = append(inputs[parsed.Format], in)
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, fmt.Errorf("read the files: %w", err)
		}
	}
	if len(inputs) == 0 {
		return nil, fmt.Errorf("there is no file that can be read in %s", filepath.Join(folders...))
	}
	return inputs, nil
}

func measureFormat(ctx context.Context, parser *parse.Parser, format string, inputs []parse.Input, duration time.Duration) (FormatRate, error) {
	rate := FormatRate{Format: format, Files: len(inputs)}
	for _, in := range inputs {
		rate.Bytes += len(in.Content)
	}
	rounds := 0
	start := time.Now()
	for time.Since(start) < duration {
		for _, in := range inputs {
			if _, err := parser.Parse(ctx, in); err != nil {
				return rate, fmt.Errorf("%s: %w", in.Name, err)
			}
		}
		rounds++
	}
	seconds := time.Since(start).Seconds()
	rate.Documents = float64(rounds*len(inputs)) / seconds
	rate.Megabytes = float64(rounds) * float64(rate.Bytes) / seconds / 1e6
	return rate, nil
}

// parseLarge parses two large files and, for comparison, a small one, each in a
// process of its own.
func parseLarge(ctx context.Context, o ParseOptions) (costs []ParseCost, err error) {
	folder, err := os.MkdirTemp("", "magpie-bench-")
	if err != nil {
		return nil, fmt.Errorf("create a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	for _, file := range []struct {
		name, what string
		write      func(io.Writer) error
	}{
		{"small.md", "a page of text, for comparison", func(w io.Writer) error { _, err := io.WriteString(w, "# Page\n\nText.\n"); return err }},
		{"large.pdf", fmt.Sprintf("PDF of %d pages", o.Pages), func(w io.Writer) error { return synth.WritePDF(w, o.Pages) }},
		{"large.xlsx", fmt.Sprintf("workbook of %d rows, 10 columns", o.Rows), func(w io.Writer) error { return synth.WriteWorkbook(w, o.Rows) }},
	} {
		path := filepath.Join(folder, file.name)
		size, err := writeFile(path, file.write)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		child := exec.CommandContext(ctx, o.Program, "parse", path) //nolint:gosec // this program
		child.Stdout, child.Stderr = io.Discard, o.Messages
		if err := child.Run(); err != nil {
			return nil, fmt.Errorf("read the %s: %w", file.what, err)
		}
		cost := ParseCost{What: file.what, Bytes: size, Elapsed: time.Since(start)}
		if usage, ok := child.ProcessState.SysUsage().(*syscall.Rusage); ok {
			cost.Peak = usage.Maxrss * maxrssUnit
		}
		costs = append(costs, cost)
	}
	return costs, nil
}

// writeFile creates a file and returns its size.
func writeFile(path string, write func(io.Writer) error) (size int64, err error) {
	file, err := os.Create(path) //nolint:gosec // in a folder of parseLarge
	if err != nil {
		return 0, fmt.Errorf("create a file: %w", err)
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
