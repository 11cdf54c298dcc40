package xmlscan

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const bufferSize = 32 << 10

// input buffers a document. The open token is always whole in the buffer, so that its parts need no copies. Positions
// in the token count from at, which moves only between tokens.
type input struct {
	source io.Reader
	buffer []byte
	at     int   // start of the open token
	offset int64 // how many bytes came before the buffer
	err    error // why nothing more can be read
}

// more reads more bytes. It fails at the end of the input, and for a token that is too long.
func (in *input) more() error {
	if in.err != nil {
		return in.err
	}
	if rest := len(in.buffer) - in.at; len(in.buffer) == cap(in.buffer) {
		switch {
		case rest > maxToken:
			return &SyntaxError{Detail: "a token longer than 32 MiB", Offset: in.offset + int64(in.at)}
		case rest > cap(in.buffer)/2:
			in.buffer = append(make([]byte, 0, 2*cap(in.buffer)), in.buffer[in.at:]...)
		default:
			in.buffer = in.buffer[:copy(in.buffer, in.buffer[in.at:])]
		}
		in.offset += int64(in.at)
		in.at = 0
	}
	for range 100 {
		n, err := in.source.Read(in.buffer[len(in.buffer):cap(in.buffer)])
		in.buffer = in.buffer[:len(in.buffer)+n]
		in.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	in.err = io.ErrNoProgress
	return in.err
}

// index returns the position of a byte in the token, at or after from.
func (in *input) index(b byte, from int) (int, error) {
	for {
		token := in.buffer[in.at:]
		if from < len(token) {
			if found := bytes.IndexByte(token[from:], b); found >= 0 {
				return from + found, nil
			}
		}
		from = max(from, len(token))
		if err := in.more(); err != nil {
			return from, err
		}
	}
}

// indexText is index for a mark of several bytes.
func (in *input) indexText(mark string, from int) (int, error) {
	last := mark[len(mark)-1]
	for at := from + len(mark) - 1; ; at++ {
		found, err := in.index(last, at)
		if err != nil {
			return 0, err
		}
		if at = found; string(in.buffer[in.at+at+1-len(mark):in.at+at+1]) == mark {
			return at + 1 - len(mark), nil
		}
	}
}

// byteAt returns the byte at a position of the token.
func (in *input) byteAt(position int) (byte, error) {
	for in.at+position >= len(in.buffer) {
		if err := in.more(); err != nil {
			return 0, err
		}
	}
	return in.buffer[in.at+position], nil
}

// hasPrefix reports whether the token begins with a mark.
func (in *input) hasPrefix(mark string) bool {
	if _, err := in.byteAt(len(mark) - 1); err != nil {
		return false
	}
	return string(in.buffer[in.at:in.at+len(mark)]) == mark
}

// decoded returns the input as UTF-8.
func decoded(r *bufio.Reader) io.Reader {
	head, _ := r.Peek(200)
	switch {
	case bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")):
		_, _ = r.Discard(3)
		return r
	case bytes.HasPrefix(head, []byte("\xFF\xFE")), bytes.HasPrefix(head, []byte("\xFE\xFF")):
		return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	case bytes.HasPrefix(head, []byte("<\x00")):
		return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder())
	case bytes.HasPrefix(head, []byte("\x00<")):
		return transform.NewReader(r, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder())
	}
	declaration, _, _ := bytes.Cut(head, []byte("?>"))
	lower := strings.ToLower(string(declaration))
	for _, latin := range []string{"iso-8859-1", "latin1", "windows-1252", "us-ascii"} {
		if strings.HasPrefix(lower, "<?xml") && strings.Contains(lower, latin) {
			return transform.NewReader(r, charmap.Windows1252.NewDecoder())
		}
	}
	return r
}
