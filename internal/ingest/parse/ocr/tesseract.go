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
	// maxOutput is the most that the program may print about a picture, in bytes: 60 bytes for each of 500,000 words.
	maxOutput = 32 << 20
	// patience is how long the program may hold its pipes after it was killed.
	patience = 2 * time.Second
)

// Tesseract runs the program of this name. It is safe for concurrent use.
type Tesseract struct {
	program string
	slots   chan struct{} // holds one value for each program at work

	asking    chan struct{} // holds a value while languages is looked at
	languages []string      // that the program knows, as it calls them; nil until it was asked
}

// Find returns the program at a path, or the one that the search path has when path is "". The error says that there is
// none. The program is not run yet.
func Find(path string) (*Tesseract, error) {
	if path == "" {
		path = "tesseract"
	}
	program, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("find tesseract: %w", err)
	}
	return &Tesseract{program: program, slots: make(chan struct{}, runtime.NumCPU()), asking: make(chan struct{}, 1)}, nil
}

// Text returns the text in a picture, paragraphs parted by empty lines and each on one line; "" when there is none.
// Languages are ISO 639-1 codes, or names as tesseract has them; those that are not installed are left out, and without
// any the program looks for those that are. The error is *document.LimitError for a picture that is too large,
// *document.DamagedError for what is no picture, and wraps the context's error when its time is up.
func (t *Tesseract) Text(ctx context.Context, image []byte, languages []string) (string, error) {
	if _, err := measure(image); err != nil {
		return "", err
	}
	found, err := t.recognise(ctx, image, languages)
	if err != nil {
		return "", err
	}
	texts := make([]string, len(found))
	for i := range found {
		texts[i] = found[i].text
	}
	return strings.Join(texts, "\n\n"), nil
}

// recognise runs the program on a picture that was looked at.
func (t *Tesseract) recognise(ctx context.Context, image []byte, languages []string) ([]paragraph, error) {
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
		arguments = append(arguments, "--psm", "1") // pages that lie on their side are turned
	}
	output, err := t.run(ctx, image, arguments...)
	if err != nil {
		return nil, err
	}
	return readTable(output), nil
}

// installed asks the program once what languages it knows.
func (t *Tesseract) installed(ctx context.Context) ([]string, error) {
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
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
	if len(spoken(names)) == 0 {
		return nil, errors.New("recognise text: tesseract has no languages installed")
	}
	t.languages = names
	return names, nil
}

// Languages are the names of the installed languages, as tesseract has them: eng, deu.
func (t *Tesseract) Languages(ctx context.Context) ([]string, error) {
	names, err := t.installed(ctx)
	return spoken(names), err
}

// run runs the program and returns what it prints.
func (t *Tesseract) run(ctx context.Context, input []byte, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, t.program, arguments...) //nolint:gosec // the program is the operator's choice, the arguments are names from its own list
	command.Env = append(command.Environ(), "OMP_THREAD_LIMIT=1")
	command.Stdin = bytes.NewReader(input)
	output := bounded{limit: maxOutput}
	command.Stdout = &output
	command.WaitDelay = patience
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("recognise text: %w", ctx.Err())
	case output.full:
		return "", &document.LimitError{Detail: fmt.Sprintf("the text recognised in a picture has more than %d MiB", maxOutput>>20)}
	case errors.As(err, &exit) && len(input) > 0:
		return "", &document.DamagedError{Format: formatName, Detail: "it cannot be read as a picture", Cause: fmt.Errorf("tesseract: %w", err)}
	case err != nil:
		return "", fmt.Errorf("run tesseract: %w", err)
	}
	return string(output.kept), nil
}

// bounded keeps what is written to it up to a limit; what goes beyond is an error. It embeds no buffer, whose ReadFrom would
// be used in place of Write.
type bounded struct {
	kept  []byte
	limit int
	full  bool
}

var errFull = errors.New("too much output")

// Write keeps what there is room for.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - len(b.kept)
	if len(p) <= room {
		b.kept = append(b.kept, p...)
		return len(p), nil
	}
	b.full = true
	b.kept = append(b.kept, p[:room]...)
	return room, errFull
}

// spoken returns the names that are languages, and not data for other uses.
func spoken(names []string) []string {
	var languages []string
	for _, name := range names {
		if name != "osd" && name != "equ" && name != "snum" && !strings.Contains(name, "/") && !strings.HasSuffix(name, "_vert") {
			languages = append(languages, name)
		}
	}
	return languages
}

// choose returns the languages to look for: those that are wanted and installed, with English beside them, since most
// documents have some. Without any it is all when they are few: each makes the program slower.
func choose(installed, wanted []string) []string {
	const few = 3
	known := spoken(installed)
	var chosen []string
	add := func(name string) {
		if slices.Contains(known, name) && !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	for _, language := range wanted {
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

// names returns what tesseract calls a language of ISO 639-1: mostly what ISO 639-2 does.
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
