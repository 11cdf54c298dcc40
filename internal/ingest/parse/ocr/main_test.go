package ocr_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// programs are stand-ins for tesseract. They are written before any test starts a program: a file that is open for writing
// in a process about to be started cannot be run.
var programs = map[string]string{
	// Knows languages, counts how often it was asked for them, and says what it was given.
	"echo": `#!/bin/sh
if [ "$1" = --list-langs ]; then
  echo asked >> "$0.asked"
  printf 'List of available languages in "/x" (4):\ndeu\neng\nosd\nscript/Latin\n'
  exit 0
fi
bytes=$(wc -c)
row() { printf '5\t%s\t1\t%s\t%s\t1\t0\t0\t9\t9\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5"; }
printf 'level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n'
row 1 1 1 96.5 "arguments:"
for argument in "$@"; do row 1 1 1 95 "$argument"; done
row 1 2 1 95 bytes:
row 1 2 1 95 "$(echo $bytes)"
row 1 2 2 95 "threads:$OMP_THREAD_LIMIT"
row 1 3 1 91 Kran-
row 1 3 2 91 führer
row 1 3 2 12 '~|}'
row 1 4 1 22 'l|I'
row 1 4 1 31 'vvWv'
row 2 1 1 88 second
row 2 1 1 88 page
`,
	// Knows English alone, as Debian installs it, and says what it was given.
	"english": `#!/bin/sh
if [ "$1" = --list-langs ]; then printf 'List of available languages in "/x" (2):\neng\nosd\n'; exit 0; fi
cat > /dev/null
printf 'level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n'
for argument in "$@"; do printf '5\t1\t1\t1\t1\t1\t0\t0\t9\t9\t95\t%s\n' "$argument"; done
`,
	// Hangs.
	"hang": `#!/bin/sh
if [ "$1" = --list-langs ]; then echo eng; exit 0; fi
echo started > "$0.started"
exec sleep 600
`,
	// Prints without end.
	"flood": `#!/bin/sh
if [ "$1" = --list-langs ]; then echo eng; exit 0; fi
exec yes '5	1	1	1	1	1	0	0	9	9	95	word'
`,
	// Fails at every picture.
	"fail": `#!/bin/sh
if [ "$1" = --list-langs ]; then echo eng; exit 0; fi
echo "Error in pixReadStream: unknown" >&2
exit 1
`,
	// Has no languages.
	"mute": `#!/bin/sh
echo 'List of available languages (1):'
echo osd
`,
	// Finds nothing.
	"blank": `#!/bin/sh
if [ "$1" = --list-langs ]; then echo eng; exit 0; fi
cat > /dev/null
`,
}

// folder holds the programs.
var folder string

func TestMain(m *testing.M) {
	status, err := run(m)
	if err == nil && status == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	if folder, err = os.MkdirTemp("", "magpie-ocr-"); err != nil {
		return 1, err
	}
	defer func() {
		if failed := os.RemoveAll(folder); err == nil {
			err = failed
		}
	}()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o700); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}
