package gitwire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// The media types of the protocol.
const (
	RequestType       = "application/x-git-upload-pack-request"
	ResponseType      = "application/x-git-upload-pack-result"
	AdvertisementType = "application/x-git-upload-pack-advertisement"
)

const (
	maxReferences = 100_000 // of an advertisement
	maxBlobSize   = 1 << 20 // of a requested file, if the server supports filters
	zeroHash      = "0000000000000000000000000000000000000000"
)

// ErrMalformed says that a response is not of git's protocol.
var ErrMalformed = errors.New("the answer is not git's")

// A Tip is the HEAD of a repository.
type Tip struct {
	// Commit is the hash of the commit, "" for an empty repository.
	Commit string

	capabilities map[string]bool
	branches     map[string]string // commits by name
}

// Branch returns the newest commit of a branch as a Tip, and false if there is no such
// branch.
func (t Tip) Branch(name string) (Tip, bool) {
	commit, ok := t.branches[name]
	return Tip{Commit: commit, capabilities: t.capabilities}, ok
}

// readPacket reads a packet. flush reports whether it is the empty packet that
// ends a section.
func readPacket(r *bufio.Reader) (data []byte, flush bool, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, false, fmt.Errorf("%w: cut off", ErrMalformed)
	}
	size, err := strconv.ParseUint(string(head[:]), 16, 16)
	switch {
	case err != nil, size > 0 && size < 4, size > 65520:
		return nil, false, fmt.Errorf("%w: a packet without a length", ErrMalformed)
	case size == 0:
		return nil, true, nil
	}
	data = make([]byte, size-4)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, false, fmt.Errorf("%w: cut off", ErrMalformed)
	}
	return data, false, nil
}

func formatPacket(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// ReadTip parses the response to GET info/refs?service=git-upload-pack.
func ReadTip(body io.Reader) (Tip, error) {
	r := bufio.NewReader(body)
	first, _, err := readPacket(r)
	if err != nil {
		return Tip{}, err
	}
	if strings.TrimSpace(string(first)) != "# service=git-upload-pack" {
		return Tip{}, ErrMalformed
	}
	if _, flush, err := readPacket(r); err != nil || !flush {
		return Tip{}, ErrMalformed
	}
	tip := Tip{capabilities: map[string]bool{}, branches: map[string]string{}}
	for at := range maxReferences {
		data, flush, err := readPacket(r)
		if err != nil {
			return Tip{}, err
		}
		if flush {
			return tip, nil
		}
		text := strings.TrimSuffix(string(data), "\n")
		if at == 0 {
			reference, list, _ := strings.Cut(text, "\x00")
			for word := range strings.FieldsSeq(list) {
				name, _, _ := strings.Cut(word, "=")
				tip.capabilities[name] = true
			}
			text = reference
		}
		hash, name, ok := strings.Cut(text, " ")
		if !ok || !isHash(hash) {
			return Tip{}, ErrMalformed
		}
		if name == "HEAD" && hash != zeroHash {
			tip.Commit = hash
		}
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			tip.branches[branch] = hash
		}
	}
	return Tip{}, fmt.Errorf("%w: it names too many branches", ErrMalformed)
}

func isHash(text string) bool { return regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(text) }

// Request returns the body of POST git-upload-pack. It requests the newest
// commit only, without large files if the server supports filters.
func (t Tip) Request() ([]byte, error) {
	if t.Commit == "" || !t.capabilities["side-band-64k"] || !t.capabilities["shallow"] {
		return nil, fmt.Errorf("%w: it does not offer what is needed", ErrMalformed)
	}
	words := []string{"side-band-64k"}
	for _, name := range []string{"ofs-delta", "no-progress"} {
		if t.capabilities[name] {
			words = append(words, name)
		}
	}
	filter := ""
	if t.capabilities["filter"] {
		words = append(words, "filter")
		filter = formatPacket(fmt.Sprintf("filter blob:limit=%d\n", maxBlobSize))
	}
	return []byte(formatPacket("want "+t.Commit+" "+strings.Join(words, " ")+" agent=magpie\n") + formatPacket("deepen 1\n") + filter + "0000" + formatPacket("done\n")), nil
}

// readPack returns the pack of a response.
func readPack(body io.Reader, maxBytes int) ([]byte, error) {
	r := bufio.NewReaderSize(body, 64<<10)
	for shallow := true; ; {
		data, flush, err := readPacket(r)
		if err != nil {
			return nil, err
		}
		text := strings.TrimSpace(string(data))
		switch {
		case flush && shallow:
			shallow = false
		case strings.HasPrefix(text, "shallow ") || strings.HasPrefix(text, "unshallow "):
		case strings.HasPrefix(text, "ERR "):
			return nil, errors.New("git says: " + serverMessage(text[4:]))
		case text == "NAK":
			return demultiplex(r, maxBytes)
		default:
			return nil, ErrMalformed
		}
	}
}

// demultiplex returns the pack in the side bands of a response.
func demultiplex(r *bufio.Reader, maxBytes int) ([]byte, error) {
	var pack []byte
	for {
		data, flush, err := readPacket(r)
		switch {
		case err != nil:
			return nil, err
		case flush:
			return pack, nil
		case len(data) == 0:
			return nil, ErrMalformed
		}
		switch data[0] {
		case 1:
			if len(pack)+len(data)-1 > maxBytes {
				return nil, ErrTooLarge
			}
			pack = append(pack, data[1:]...)
		case 2: // progress
		case 3:
			return nil, errors.New("git says: " + serverMessage(string(data[1:])))
		default:
			return nil, ErrMalformed
		}
	}
}

// serverMessage returns a server's message in a form that is safe in an error.
func serverMessage(text string) string {
	text = strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200])
	}
	return strings.TrimSpace(text)
}
