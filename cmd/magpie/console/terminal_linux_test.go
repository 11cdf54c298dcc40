package console_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/magpie-search/magpie/cmd/magpie/console"
)

// terminal opens a pseudo terminal with a number of columns, and returns both of its ends.
func terminal(t *testing.T, columns uint16) (outer, inner *os.File) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { _ = outer.Close() })
	if err := unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Skipf("this machine has no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	if err := unix.IoctlSetWinsize(int(inner.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return outer, inner
}

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	const id = "018f0000-0000-8000-8000-00000000c011"
	rows := func() [][]string {
		return [][]string{{id, "Handbook", strings.Repeat("a long description ", 10), "end"}, {id, strings.Repeat("漢字", 30), "short", "end"}}
	}
	header := []string{"ID", "NAME", "DESCRIPTION", "LAST"}
	print := func(columns uint16, o console.Options) []string {
		outer, inner := terminal(t, columns)
		o.Out, o.Err = inner, io.Discard
		console.New(o).Table(header, rows(), "")
		if err := inner.Close(); err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(outer) // ends with an error of the closed terminal
		return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")), "\n")
	}
	wide := func(line string) int {
		return utf8.RuneCountInString(line) + strings.Count(line, "漢") + strings.Count(line, "字")
	}
	for columns, lines := range map[int][]string{100: print(100, console.Options{}), 90: print(200, console.Options{Columns: 90}), 80: print(80, console.Options{Plain: true})} {
		if len(lines) != 3 {
			t.Fatalf("%d columns: %q", columns, lines)
		}
		for i, line := range lines {
			if wide(line) > columns || i > 0 && (!strings.HasPrefix(line, id+"  ") || !strings.HasSuffix(line, "  end") || !strings.Contains(line, "…")) {
				t.Errorf("%d columns: %d: %q", columns, wide(line), line)
			}
		}
	}
	if lines := print(20, console.Options{}); len(lines) != 3 || !strings.HasPrefix(lines[1], id+"  ") {
		t.Errorf("a narrow terminal: %q", lines)
	}
	var whole bytes.Buffer
	console.New(console.Options{Out: &whole, Err: io.Discard, Columns: 40}).Table(header, rows(), "")
	if got := whole.String(); strings.Contains(got, "…") || !strings.Contains(got, strings.Repeat("a long description ", 10)) || !strings.Contains(got, strings.Repeat("漢字", 30)) {
		t.Errorf("without a terminal: %q", got)
	}
}
