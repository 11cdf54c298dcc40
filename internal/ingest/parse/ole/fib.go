package ole

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
)

const wordFormat = "Word document"

// Versions of the format (MS-DOC 2.5.2): Word 6 is 101, Word 95 is 104, Word 97 is 193.
const (
	firstWord6 = 101
	word95     = 104
	firstNew   = 105
)

// Indexes of structures in the list of the file information block (MS-DOC 2.5.6). Word 6 has the same order.
const (
	atStyles       = 1
	atNoteRefs     = 2
	atNoteTexts    = 3
	atCommentRefs  = 4
	atCommentTexts = 5
	atHeaders      = 11
	atCharacters   = 12
	atParagraphs   = 13
	atFonts        = 15
	atPieces       = 33
	atAuthors      = 36
	atShapes       = 40
	atEndnoteRefs  = 46
	atEndnoteTexts = 47
	atTextBoxes    = 56
	atHeaderBoxes  = 58
	atListFormats  = 73
	atListUses     = 74
)

// The stories of a document, in the order of their text (MS-DOC 2.3).
const (
	storyMain = iota
	storyNotes
	storyHeaders
	storyMacros
	storyComments
	storyEndnotes
	storyBoxes
	storyHeaderBoxes
	stories
)

// fib is the file information block (MS-DOC 2.5.1), which locates the parts of the file.
type fib struct {
	isOld    bool // Word 6 or 95
	isWide   bool // characters have two bytes, which Word 95 allows
	language int
	// first and last are the offsets of the text in a file of Word 6 or 95 without a piece table.
	first, last int
	// counts are the numbers of characters of the stories.
	counts [stories]int
	// main is the stream with the text, tables the one with the structures, data the one with large properties.
	main, tables, data view
	structures         int // offset of the list of structures
}

// readFIB reads the streams of a document. The error is a *document.DamagedError, *document.EncryptedError or
// *document.LimitError.
func readFIB(file *cfb.File) (*fib, error) {
	content, err := file.Read("WordDocument")
	if err != nil {
		return nil, streamError(wordFormat, "its text is missing", err)
	}
	f, err := parseFIB(content)
	if err != nil || f.isOld {
		return f, err
	}
	name := "0Table"
	if f.main.u16(10)&0x0200 != 0 {
		name = "1Table"
	}
	if f.tables, err = tableStream(file, name); err != nil {
		return nil, err
	}
	if data, err := file.Read("Data"); err == nil {
		f.data = data
	}
	return f, nil
}

// recoverFIB reads the file information block of a file that has lost its end, and with it the directory of streams.
// Most programs write the main stream directly after the header.
func recoverFIB(content view) (*fib, bool) {
	if !bytes.HasPrefix(content, []byte(cfb.Magic)) {
		return nil, false
	}
	f, err := parseFIB(content.from(1 << min(content.u16(30), 12)))
	return f, err == nil
}

// parseFIB parses the file information block. The error is a *document.DamagedError or *document.EncryptedError.
func parseFIB(main view) (*fib, error) {
	if mark := main.u16(0); len(main) < 96 || mark != 0xA5EC && mark != 0xA5DC {
		return nil, damagedWord("it has no file information block", nil)
	}
	version, flags := main.u16(2), main.u16(10)
	if version < firstWord6 {
		return nil, damagedWord("it is of a version before Word 6", nil)
	}
	if flags&0x0100 != 0 {
		return nil, &document.EncryptedError{Format: wordFormat}
	}
	f := &fib{main: main, language: main.u16(6), first: main.u32(24), last: main.u32(28)}
	var counts int
	if version < firstNew {
		f.isOld, f.isWide = true, version >= word95 && flags&0x1000 != 0
		f.tables, f.structures, counts = main, 0x58, 0x34
	} else {
		words := 34 + 2*main.u16(32)
		longs := words + 2
		counts = longs + 12
		f.structures = longs + 4*main.u16(words) + 2
	}
	for i := range f.counts {
		f.counts[i] = main.u32(counts + 4*i)
	}
	return f, nil
}

// tableStream returns the table stream with a name, or the other one if it is missing. Without both it returns an empty
// view: the text is readable without.
func tableStream(file *cfb.File, name string) (view, error) {
	for _, name := range []string{name, "1Table", "0Table"} {
		content, err := file.Read(name)
		if err == nil {
			return content, nil
		}
		if _, limited := errors.AsType[*document.LimitError](err); limited {
			return nil, err
		}
	}
	return view{}, nil
}

// structure returns the structure at an index of the list.
func (f *fib) structure(index int) view {
	at := f.structures + 8*index
	if f.isOld && index >= atShapes {
		at = 0x192 + 8*(index-atShapes)
	}
	if f.isOld && index > atHeaderBoxes {
		return nil
	}
	return f.tables.part(f.main.u32(at), f.main.u32(at+4))
}

// after returns the bytes after a structure.
func (f *fib) after(index int) view {
	at := f.structures + 8*index
	return f.tables.from(f.main.u32(at) + f.main.u32(at+4))
}

// firstChar returns the first character of a story.
func (f *fib) firstChar(story int) int {
	sum := 0
	for i := range story {
		sum += f.counts[i]
	}
	return sum
}

func damagedWord(detail string, cause error) error {
	return &document.DamagedError{Format: wordFormat, Detail: detail, Cause: cause}
}

// streamError returns the error of a stream that cannot be read. A missing stream is a *document.DamagedError.
func streamError(format, detail string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &document.DamagedError{Format: format, Detail: detail, Cause: err}
	}
	return err
}
