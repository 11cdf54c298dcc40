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

// Structures by their place in the list of the file information block (MS-DOC 2.5.6), which Word 6 has in the same order.
const (
	placeStyles        = 1
	placeNoteRefs      = 2
	placeNoteTexts     = 3
	placeCommentRefs   = 4
	placeCommentTexts  = 5
	placeHeaders       = 11
	placeCharacters    = 12
	placeParagraphs    = 13
	placeFonts         = 15
	placePieces        = 33
	placeAuthors       = 36
	placeShapes        = 40
	placeEndnoteRefs   = 46
	placeEndnoteTexts  = 47
	placeTextBoxes     = 56
	placeHeaderBoxes   = 58
	placeListFormats   = 73
	placeListOverrides = 74
)

// The stories of a document in the order of their characters (MS-DOC 2.3).
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

// fib is the file information block (MS-DOC 2.5.1): where everything is.
type fib struct {
	old      bool // Word 6 or 95
	wide     bool // of Word 95: characters have two bytes
	language int
	// first and last are where the text is in a file of Word 6 or 95 that has no pieces.
	first, last int
	// counts are the characters of the stories.
	counts [stories]int
	// main is the stream of the text, tables the one of the structures, data that of large properties.
	main, tables, data view
	places             int // offset of the list of structures
}

// readFIB opens the streams of a document. The error is *document.DamagedError, *document.EncryptedError or
// *document.LimitError.
func readFIB(file *cfb.File) (*fib, error) {
	content, err := file.Read("WordDocument")
	if err != nil {
		return nil, streamError(wordFormat, "its text is missing", err)
	}
	f, err := parseFIB(content)
	if err != nil || f.old {
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

// lostFIB finds the text of a file that has lost the directory of its storage with its end: most programs write the text
// first, behind the header of the storage.
func lostFIB(content view) (*fib, bool) {
	if !bytes.HasPrefix(content, []byte(cfb.Magic)) {
		return nil, false
	}
	f, err := parseFIB(content.from(1 << min(content.u16(30), 12)))
	return f, err == nil
}

// parseFIB reads the file information block. The error is *document.DamagedError or *document.EncryptedError.
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
		f.old, f.wide = true, version >= word95 && flags&0x1000 != 0
		f.tables, f.places, counts = main, 0x58, 0x34
	} else {
		words := 34 + 2*main.u16(32)
		longs := words + 2
		counts = longs + 12
		f.places = longs + 4*main.u16(words) + 2
	}
	for i := range f.counts {
		f.counts[i] = main.u32(counts + 4*i)
	}
	return f, nil
}

// tableStream returns the stream of structures, the other one where the one that is named is missing, and nothing where
// there is none: text can be read without.
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

// place returns a structure by its place in the list.
func (f *fib) place(index int) view {
	at := f.places + 8*index
	if f.old && index >= placeShapes {
		at = 0x192 + 8*(index-placeShapes)
	}
	if f.old && index > placeHeaderBoxes {
		return nil
	}
	return f.tables.part(f.main.u32(at), f.main.u32(at+4))
}

// after returns what follows a structure.
func (f *fib) after(index int) view {
	at := f.places + 8*index
	return f.tables.from(f.main.u32(at) + f.main.u32(at+4))
}

// from returns the first character of a story.
func (f *fib) from(story int) int {
	sum := 0
	for i := range story {
		sum += f.counts[i]
	}
	return sum
}

func damagedWord(detail string, cause error) error {
	return &document.DamagedError{Format: wordFormat, Detail: detail, Cause: cause}
}

// streamError is the error of a stream that cannot be read: when it is not there, that of a damaged file.
func streamError(format, detail string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &document.DamagedError{Format: format, Detail: detail, Cause: err}
	}
	return err
}
