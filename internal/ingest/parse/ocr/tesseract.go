package ocr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// maxOutput is the longest output for a picture, in bytes: 60 bytes for each of 500,000 words.
	maxOutput = 32 << 20
	// waitDelay is how long the program may keep its pipes open after it was killed.
	waitDelay = 2 * time.Second
)

// Tesseract runs the program tesseract. It is safe for concurrent use.
type Tesseract struct {
	program string
	slots   chan struct{} // one value for each running program

	lock      chan struct{} // guards languages
	languages []string      // names of the installed languages; nil until they are known
}

// Find returns the program at a path, or, if the path is "", the one in the search path. It does not run the program.
// The error is that of exec.LookPath.
func Find(path string) (*Tesseract, error) {
	if path == "" {
		path = "tesseract"
	}
	program, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("find tesseract: %w", err)
	}
	return &Tesseract{program: program, slots: make(chan struct{}, runtime.NumCPU()), lock: make(chan struct{}, 1)}, nil
}

// Text returns the text in a picture: paragraphs on one line each, separated by empty lines, "" if there is none.
// Languages are ISO 639-1 codes or names of tesseract. Those that are not installed are ignored. The error is a
// *document.LimitError if the picture is too large, a *document.DamagedError if it is no picture, or that of the
// context.
func (t *Tesseract) Text(ctx context.Context, image []byte, languages []string) (string, error) {
	if _, err := measure(image); err != nil {
		return "", err
	}
	found, err := t.recognize(ctx, image, languages)
	if err != nil {
		return "", err
	}
	texts := make([]string, len(found))
	for i := range found {
		texts[i] = found[i].text
	}
	return strings.Join(texts, "\n\n"), nil
}

// recognize runs the program on a picture whose header was checked.
func (t *Tesseract) recognize(ctx context.Context, image []byte, languages []string) ([]paragraph, error) {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("recognise text: %w", ctx.Err())
	}
	installed, err := t.installed(ctx)
	if err != nil {
		return nil, err
	}
	arguments := []string{"stdin", "stdout", "-l", strings.Join(choose(installed, languages), "+"), "-c", "tessedit_create_tsv=1"}
	if slices.Contains(installed, "osd") {
		arguments = append(arguments, "--psm", "1") // detects the orientation of pages
	}
	output, err := t.run(ctx, image, arguments...)
	if err != nil {
		return nil, err
	}
	return readTable(output), nil
}

// installed returns the names of the installed languages. It runs the program once.
func (t *Tesseract) installed(ctx context.Context) ([]string, error) {
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return nil, fmt.Errorf("recognise text: %w", ctx.Err())
	}
	if t.languages != nil {
		return t.languages, nil
	}
	output, err := t.run(ctx, nil, "--list-langs")
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(output) {
		if name := strings.TrimSpace(line); name != "" && !strings.ContainsAny(name, " :") {
			names = append(names, name)
		}
	}
	if len(textLanguages(names)) == 0 {
		return nil, errors.New("recognise text: tesseract has no languages installed")
	}
	t.languages = names
	return names, nil
}

// Languages returns the names of the installed languages, such as eng and deu.
func (t *Tesseract) Languages(ctx context.Context) ([]string, error) {
	names, err := t.installed(ctx)
	return textLanguages(names), err
}

// run runs the program and returns its output.
func (t *Tesseract) run(ctx context.Context, input []byte, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, t.program, arguments...) //nolint:gosec // the program is the operator's choice, the arguments are names from its own list
	command.Env = append(command.Environ(), "OMP_THREAD_LIMIT=1")
	command.Stdin = bytes.NewReader(input)
	output := limitedBuffer{limit: maxOutput}
	command.Stdout = &output
	command.WaitDelay = waitDelay
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("recognise text: %w", ctx.Err())
	case output.isFull:
		return "", &document.LimitError{Detail: fmt.Sprintf("the text recognised in a picture has more than %d MiB", maxOutput>>20)}
	case errors.As(err, &exit) && len(input) > 0:
		return "", &document.DamagedError{Format: formatName, Detail: "it cannot be read as a picture", Cause: fmt.Errorf("tesseract: %w", err)}
	case err != nil:
		return "", fmt.Errorf("run tesseract: %w", err)
	}
	return string(output.content), nil
}

// limitedBuffer keeps output up to a limit. It does not embed bytes.Buffer, whose ReadFrom would be used instead of
// Write.
type limitedBuffer struct {
	content []byte
	limit   int
	isFull  bool
}

var errFull = errors.New("too much output")

// Write implements io.Writer. The error is errFull if the output exceeds the limit.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := b.limit - len(b.content)
	if len(p) <= room {
		b.content = append(b.content, p...)
		return len(p), nil
	}
	b.isFull = true
	b.content = append(b.content, p[:room]...)
	return room, errFull
}

// textLanguages returns the names of languages, without those of other data.
func textLanguages(names []string) []string {
	var languages []string
	for _, name := range names {
		if name != "osd" && name != "equ" && name != "snum" && !strings.Contains(name, "/") && !strings.HasSuffix(name, "_vert") {
			languages = append(languages, name)
		}
	}
	return languages
}

// choose returns the languages to recognize: the preferred ones that are installed and English, which most documents
// contain. Without a preferred one it returns all if they are few, since each language takes time.
func choose(installed, preferred []string) []string {
	const few = 3
	known := textLanguages(installed)
	var chosen []string
	add := func(name string) {
		if slices.Contains(known, name) && !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	for _, language := range preferred {
		for _, name := range names(strings.ToLower(language)) {
			add(name)
		}
	}
	if len(chosen) > 0 || len(known) > few {
		add("eng")
	}
	if len(chosen) > 0 {
		return chosen
	}
	if len(known) > few {
		return known[:1]
	}
	return known
}

// names returns tesseract's names of an ISO 639-1 language, which are mostly those of ISO 639-2.
func names(language string) []string {
	switch language {
	case "zh":
		return []string{"chi_sim", "chi_tra"}
	case "no", "nb", "nn":
		return []string{"nor"}
	case "sr":
		return []string{"srp", "srp_latn"}
	}
	const codes = "af afr ar ara az aze be bel bg bul bn ben bs bos ca cat cs ces cy cym da dan de deu el ell en eng eo epo es spa " +
		"et est eu eus fa fas fi fin fr fra ga gle gl glg gu guj he heb hi hin hr hrv hu hun hy hye id ind is isl it ita ja jpn " +
		"ka kat kk kaz km khm kn kan ko kor la lat lo lao lt lit lv lav mk mkd ml mal mn mon mr mar ms msa my mya ne nep nl nld " +
		"pa pan pl pol pt por ro ron ru rus si sin sk slk sl slv sq sqi sv swe sw swa ta tam te tel th tha tr tur uk ukr ur urd " +
		"uz uzb vi vie"
	if len(language) == 2 {
		if _, rest, found := strings.Cut(" "+codes, " "+language+" "); found {
			name, _, _ := strings.Cut(rest, " ")
			return []string{name}
		}
	}
	return []string{language}
}
