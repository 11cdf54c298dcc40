package sheet

import (
	"context"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
)

// ReadXLS reads a workbook of Excel 5.0 to 2003 (MS-XLS, BIFF5 to BIFF8), in a compound file or as a bare stream. The
// blocks are like those of ReadXLSX. The error is a *document.UnsupportedError for older worksheets.
func ReadXLS(ctx context.Context, in document.Source) (*document.Draft, error) {
	x := &xls{ctx: ctx, limits: in.Limits, tables: NewTables(), codePage: 1252, styles: styles{codes: make(map[int]string)}}
	x.tables.Bound(in.Limits)
	meta := map[string]any{}
	stream := in.Content
	if strings.HasPrefix(string(stream[:min(len(stream), len(cfb.Magic))]), cfb.Magic) {
		file, err := cfb.Open(in.Content, excelWorkbook, in.Budget)
		if err != nil {
			return nil, err
		}
		if stream, err = workbookStream(file); err != nil {
			return nil, err
		}
		meta = file.Properties()
	}
	if err := x.read(stream); err != nil {
		return nil, err
	}
	draft := &document.Draft{Blocks: x.tables.Blocks(), Meta: meta, Pages: x.tables.Sheets()}
	return finish(x.tables, draft, x.damage, excelWorkbook, nil)
}

// workbookStream returns the stream of the newest version of the workbook.
func workbookStream(file *cfb.File) ([]byte, error) {
	if file.Has("EncryptedPackage") {
		return nil, &document.EncryptedError{Format: excelWorkbook}
	}
	for _, name := range []string{"Workbook", "Book"} {
		if file.Has(name) {
			return file.Read(name)
		}
	}
	return nil, &document.DamagedError{Format: excelWorkbook, Detail: "it has no workbook"}
}

// xls reads a workbook.
type xls struct {
	ctx      context.Context // of a call of ReadXLS
	limits   document.Limits
	tables   *Tables
	version  int
	codePage int
	from1904 bool
	styles   styles
	strings  []string
	sheets   []xlsSheet
	damage   []string
	buffer   []byte
	scanned  int // bytes of records read
}

// An xlsSheet is a sheet in the list of the workbook.
type xlsSheet struct {
	name   string
	offset int
}

// Kinds of substreams in a BOF record.
const (
	streamGlobals   = 0x0005
	streamWorksheet = 0x0010
)

func (x *xls) read(stream []byte) error {
	r := &records{stream: stream}
	if !r.next() {
		return x.damaged("it is empty or cut off", nil)
	}
	switch r.kind {
	case recordBOF:
	case 0x0009, 0x0209, 0x0409:
		return &document.UnsupportedError{Reason: "format not supported: Excel 4.0 or older"}
	default:
		return x.damaged("it does not begin as a workbook", nil)
	}
	if x.version = r.u16(0); x.version != biff5 && x.version != biff8 {
		return &document.UnsupportedError{Reason: "format not supported: an unknown version of Excel"}
	}
	if r.u16(2) == streamWorksheet { // a bare worksheet
		x.tables.Begin("")
		return x.readSheet(&records{stream: stream})
	}
	if err := x.readGlobals(r); err != nil {
		return err
	}
	seen := make(map[int]bool)
	for _, entry := range x.sheets {
		x.tables.Begin(entry.name)
		if seen[entry.offset] {
			continue // a damaged list: two sheets at one offset
		}
		seen[entry.offset] = true
		sheet := &records{stream: stream, at: entry.offset}
		if !sheet.next() || sheet.kind != recordBOF {
			x.missing("sheet %d is missing", x.tables.Sheets())
			continue
		}
		sheet.at = entry.offset
		if err := x.readSheet(sheet); err != nil {
			return err
		}
	}
	return nil
}

func (x *xls) damaged(detail string, cause error) error {
	return &document.DamagedError{Format: excelWorkbook, Detail: detail, Cause: cause}
}

func (x *xls) missing(format string, args ...any) {
	if len(x.damage) < 100 {
		x.damage = append(x.damage, fmt.Sprintf(format, args...))
	}
}

func (x *xls) ok() error {
	if err := x.ctx.Err(); err != nil {
		return fmt.Errorf("read workbook: %w", err)
	}
	return x.tables.Err()
}

// readGlobals reads what all sheets share.
func (x *xls) readGlobals(r *records) error {
	for n := 0; r.next(); n++ {
		if n%1024 == 0 {
			if err := x.ok(); err != nil {
				return err
			}
		}
		switch r.kind {
		case recordEOF:
			return nil
		case recordFilePass:
			return &document.EncryptedError{Format: excelWorkbook}
		case recordCodePage:
			x.codePage = windowsCodePage(r.u16(0))
		case recordDateMode:
			x.from1904 = r.u16(0) != 0
		case recordFormat:
			if code := x.format(r); len(x.styles.codes) < maxFormats && len(code) <= maxFormat {
				x.styles.codes[r.u16(0)] = code
			}
		case recordXF:
			if len(x.styles.ids) < maxStyles {
				x.styles.ids = append(x.styles.ids, r.u16(2))
			}
		case recordBoundSheet:
			x.boundSheet(r)
		case recordSST:
			if err := x.readStrings(r); err != nil {
				return err
			}
		}
	}
	x.missing("the end of the file is missing")
	return nil
}

// windowsCodePage returns the code page of a CODEPAGE record.
func windowsCodePage(codePage int) int {
	switch codePage {
	case 0x8000:
		return 10000 // Macintosh Roman
	case 0x8001:
		return 1252
	}
	return codePage
}

// format returns the code of a FORMAT record.
func (x *xls) format(r *records) string {
	if x.version == biff8 {
		return x.text16(r, 2)
	}
	return x.text8(r, 2)
}

// text16 returns the string of a record with a length of two bytes.
func (x *xls) text16(r *records, at int) string {
	if at+2 > len(r.data) {
		return ""
	}
	p := &pieces{list: [][]byte{r.data[at+2:]}}
	if x.version == biff8 {
		x.buffer = p.appendString(x.buffer[:0], r.u16(at))
		return string(x.buffer)
	}
	return x.bytes(r.data[at+2:], r.u16(at))
}

// text8 returns the string of a record with a length of one byte.
func (x *xls) text8(r *records, at int) string {
	if at+1 > len(r.data) {
		return ""
	}
	length := int(r.data[at])
	if x.version == biff8 {
		p := &pieces{list: [][]byte{r.data[at+1:]}}
		x.buffer = p.appendString(x.buffer[:0], length)
		return string(x.buffer)
	}
	return x.bytes(r.data[at+1:], length)
}

// bytes returns text in the code page of the workbook.
func (x *xls) bytes(text []byte, length int) string {
	text = text[:min(len(text), length)]
	for _, b := range text {
		if b >= 0x80 {
			return cfb.Decode(x.codePage, text)
		}
	}
	return string(text)
}

// boundSheet adds a worksheet. Charts, macros and modules are skipped.
func (x *xls) boundSheet(r *records) {
	const worksheet = 0
	if len(r.data) < 8 || r.data[5] != worksheet || len(x.sheets) >= maxSheets {
		return
	}
	x.sheets = append(x.sheets, xlsSheet{x.text8(r, 6), int(r.u32(0))})
}

// readStrings reads the shared texts of cells.
func (x *xls) readStrings(r *records) error {
	p := r.continued()
	p.u32()
	count := p.u32()
	size := 0
	for n := 0; n < count && !p.isShort; n++ {
		if n%1024 == 0 {
			if err := x.ok(); err != nil {
				return err
			}
		}
		x.buffer = p.appendString(x.buffer[:0], p.u16())
		if p.isShort && len(x.buffer) == 0 {
			break
		}
		if size += len(x.buffer); size > x.limits.MaxText {
			return &document.LimitError{Detail: fmt.Sprintf("the text has more than %d MiB", x.limits.MaxText>>20)}
		}
		if len(x.strings) >= maxStrings {
			return &document.LimitError{Detail: fmt.Sprintf("the file has more than %d texts", maxStrings)}
		}
		x.strings = append(x.strings, x.tables.texts.storeClean(x.buffer))
	}
	if p.isShort {
		x.missing("a part of its texts is missing")
	}
	return nil
}
