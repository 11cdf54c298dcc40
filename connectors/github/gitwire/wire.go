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

// The media types of the protocol's bodies.
const (
	RequestType       = "application/x-git-upload-pack-request"
	AnswerType        = "application/x-git-upload-pack-result"
	AdvertisementType = "application/x-git-upload-pack-advertisement"
)

const (
	maxLines  = 100_000 // of an advertisement
	blobLimit = 1 << 20 // of a file that is asked for, where the server knows filters
	zeroHash  = "0000000000000000000000000000000000000000"
)

// ErrMalformed is what is no answer of the protocol.
var ErrMalformed = errors.New("the answer is not git's")

// Tip is what a repository's HEAD is at.
type Tip struct {
	// Commit is the hash of the commit, "" for a repository without any.
	Commit string

	capabilities map[string]bool
}

// line reads a packet; flush says that it is the empty one that ends a section.
func line(r *bufio.Reader) (data []byte, flush bool, err error) {
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

func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// ReadTip reads the answer to GET info/refs?service=git-upload-pack.
func ReadTip(body io.Reader) (Tip, error) {
	r := bufio.NewReader(body)
	first, _, err := line(r)
	if err != nil {
		return Tip{}, err
	}
	if strings.TrimSpace(string(first)) != "# service=git-upload-pack" {
		return Tip{}, ErrMalformed
	}
	if _, flush, err := line(r); err != nil || !flush {
		return Tip{}, ErrMalformed
	}
	tip := Tip{capabilities: map[string]bool{}}
	for at := range maxLines {
		data, flush, err := line(r)
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
		if !ok || !properHash(hash) {
			return Tip{}, ErrMalformed
		}
		if name == "HEAD" && hash != zeroHash {
			tip.Commit = hash
		}
	}
	return Tip{}, fmt.Errorf("%w: it names too many branches", ErrMalformed)
}

func properHash(text string) bool { return regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(text) }

// Request is the body of POST git-upload-pack that asks for the newest commit
// alone, without large files where the server can leave them out.
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
		filter = packet(fmt.Sprintf("filter blob:limit=%d\n", blobLimit))
	}
	return []byte(packet("want "+t.Commit+" "+strings.Join(words, " ")+" agent=magpie\n") + packet("deepen 1\n") + filter + "0000" + packet("done\n")), nil
}

// readPack reads the answer to a request up to its pack.
func readPack(body io.Reader, most int) ([]byte, error) {
	r := bufio.NewReaderSize(body, 64<<10)
	for shallow := true; ; {
		data, flush, err := line(r)
		if err != nil {
			return nil, err
		}
		text := strings.TrimSpace(string(data))
		switch {
		case flush && shallow:
			shallow = false
		case strings.HasPrefix(text, "shallow ") || strings.HasPrefix(text, "unshallow "):
		case strings.HasPrefix(text, "ERR "):
			return nil, errors.New("git says: " + printable(text[4:]))
		case text == "NAK":
			return demultiplex(r, most)
		default:
			return nil, ErrMalformed
		}
	}
}

// demultiplex takes the pack out of the bands of an answer.
func demultiplex(r *bufio.Reader, most int) ([]byte, error) {
	var pack []byte
	for {
		data, flush, err := line(r)
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
			if len(pack)+len(data)-1 > most {
				return nil, ErrTooLarge
			}
			pack = append(pack, data[1:]...)
		case 2: // progress
		case 3:
			return nil, errors.New("git says: " + printable(string(data[1:])))
		default:
			return nil, ErrMalformed
		}
	}
}

// printable makes a server's words fit for a message.
func printable(text string) string {
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
