package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/eval/bench"
)

type benchParseCommand struct {
	Folders []string      `arg:"" optional:"" name:"folder" type:"path" help:"Folders of files to read; testdata/formats by default."`
	Least   time.Duration `default:"300ms" help:"How long each format is read at least."`
	Pages   int           `default:"200" help:"Pages of the PDF whose memory is measured."`
	Rows    int           `default:"100000" help:"Rows of the workbook whose memory is measured."`
}

// Run measures the parser of the settings.
func (c *benchParseCommand) Run(r *runtime) (err error) {
	if c.Pages < 1 || c.Rows < 1 || c.Least <= 0 {
		return usagef("--pages, --rows and --least must be more than 0")
	}
	if len(c.Folders) == 0 {
		c.Folders = []string{filepath.Join("testdata", "formats")}
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
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
	result, err := bench.Parse(r, parser, bench.ParseOptions{
		Folders: c.Folders, MinDuration: c.Least, Pages: c.Pages, Rows: c.Rows, Program: program, Messages: r.streams.Err,
	})
	if err != nil {
		return err
	}
	return r.console.Result(result, func() { printParse(r.console, result) })
}

func printParse(c *console.Console, result *bench.ParseResult) {
	c.Printf("%-18s %6s %10s %12s %10s\n", "format", "files", "bytes", "documents/s", "MB/s")
	for _, f := range result.Formats {
		c.Printf("%-18s %6d %10d %12.0f %10.2f\n", f.Format, f.Files, f.Bytes, f.Documents, f.Megabytes)
	}
	c.Printf("\n%-36s %10s %10s %14s\n", "in a process of its own", "MB", "seconds", "peak memory MB")
	for _, f := range result.Large {
		c.Printf("%-36s %10.2f %10.2f %14.0f\n", f.What, float64(f.Bytes)/1e6, f.Elapsed.Seconds(), float64(f.Peak)/1e6)
	}
}
