package sheet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ooxml"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const excelWorkbook = "Excel workbook"

// ReadXLSX reads a workbook of ECMA-376 (xlsx, xlsm, xltx, xltm). Each worksheet, including hidden ones, is a page with
// a heading, its tables (see Tables), its comments as quotes and the text of its drawings. Numbers are shown in their
// formats, dates in ISO 8601, formulas as their last value.
func ReadXLSX(ctx context.Context, in document.Source) (*document.Draft, error) {
	p, err := ooxml.Open(in, excelWorkbook)
	if err != nil {
		return nil, err
	}
	main, err := p.MainPart()
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(main, ".bin") {
		return nil, &document.UnsupportedError{Reason: "format not supported: binary Excel workbook (xlsb)"}
	}
	w := &xlsx{ctx: ctx, p: p, main: main, limits: in.Limits, tables: NewTables()}
	w.tables.Bound(in.Limits)
	if err := w.read(); err != nil {
		return nil, err
	}
	draft := &document.Draft{Blocks: w.tables.Blocks(), Meta: p.Properties(), Pages: w.tables.Sheets()}
	return finish(w.tables, draft, w.damage, excelWorkbook, w.cause)
}

// finish returns the draft of a workbook. It reports an exceeded limit, and what is missing of a damaged file.
func finish(tables *Tables, draft *document.Draft, damage []string, format string, cause error) (*document.Draft, error) {
	if err := tables.Err(); err != nil {
		return nil, err
	}
	if len(damage) > 0 {
		detail := strings.Join(damage[:min(len(damage), 5)], "; ")
		if len(draft.Blocks) == 0 {
			return nil, &document.DamagedError{Format: format, Detail: detail, Cause: cause}
		}
		draft.Extra = map[string]any{"damaged": detail}
	}
	return draft, nil
}

// xlsx reads a workbook.
type xlsx struct {
	ctx    context.Context // of a call of ReadXLSX
	p      *ooxml.Package
	main   string
	limits document.Limits
	tables *Tables

	strings  []string // shared texts of cells, clean
	styles   styles
	from1904 bool
	persons  map[string]string
	damage   []string
	cause    error

	buffer []byte
	cell   xlsxCell
}

// An xlsxSheet is a sheet in the list of the workbook.
type xlsxSheet struct{ name, relation string }

// maxSheets is how many sheets of the list are kept. Tables limits how many are read.
const maxSheets = 100_000

func (w *xlsx) read() error {
	var sheets []xlsxSheet
	isWorkbook := false
	err := w.each(w.main, func(s *xmlscan.Scanner) error {
		switch s.Name() {
		case "workbook":
			isWorkbook = true
		case "workbookPr":
			w.from1904 = isTrue(s.Attr("date1904"))
		case "sheet":
			if len(sheets) < maxSheets {
				sheets = append(sheets, xlsxSheet{s.Attr("name"), s.Attr("id")})
			}
		}
		return nil
	})
	if err := w.tolerate(err, "the list of its sheets is incomplete"); err != nil {
		return err
	}
	if !isWorkbook {
		return w.p.Damaged("its main part is no workbook", err)
	}
	relations, err := w.p.Relationships(w.main)
	if err := w.tolerate(err, "the links between its parts cannot be read"); err != nil {
		return err
	}
	if err := w.readShared(relations); err != nil {
		return err
	}
	for i, entry := range sheets {
		part, isSheet := w.sheetPart(relations, entry.relation, i)
		if !isSheet {
			continue
		}
		w.tables.Begin(entry.name)
		if err := w.readSheet(part); err != nil {
			return err
		}
	}
	return nil
}

// sheetPart returns the part of a sheet. It is false for sheets without cells, such as charts.
func (w *xlsx) sheetPart(relations map[string]ooxml.Relationship, id string, i int) (string, bool) {
	relation, found := relations[id]
	if !found {
		return path.Join(path.Dir(w.main), "worksheets/sheet"+strconv.Itoa(i+1)+".xml"), true
	}
	return relation.Target, relation.Type == "worksheet" && !relation.External
}

// readShared reads what all sheets share.
func (w *xlsx) readShared(relations map[string]ooxml.Relationship) error {
	parts := map[string]string{}
	folder := path.Dir(w.main)
	for _, relation := range relations {
		if !relation.External {
			parts[relation.Type] = relation.Target
		}
	}
	for kind, usual := range map[string]string{"styles": "styles.xml", "sharedStrings": "sharedStrings.xml"} {
		if part := path.Join(folder, usual); parts[kind] == "" && w.p.Has(part) {
			parts[kind] = part
		}
	}
	if part := parts["styles"]; part != "" {
		if err := w.tolerate(w.readStyles(part), "the formats of its numbers cannot be read"); err != nil {
			return err
		}
	}
	if part := parts["sharedStrings"]; part != "" {
		if err := w.tolerate(w.readStrings(part), "a part of its texts is missing"); err != nil {
			return err
		}
	}
	if part := parts["person"]; part != "" {
		return w.tolerate(w.readPersons(part), "the authors of its comments cannot be read")
	}
	return nil
}

// each calls visit for each element of a part.
func (w *xlsx) each(part string, visit func(*xmlscan.Scanner) error) error {
	return w.p.Scan(part, func(s *xmlscan.Scanner) error {
		for n := 0; ; n++ {
			kind, err := s.Next()
			if err != nil {
				return err
			}
			if n%1024 == 0 {
				if err := w.ok(); err != nil {
					return err
				}
			}
			if kind == xmlscan.Start {
				if err := visit(s); err != nil {
					return err
				}
			}
		}
	})
}

func (w *xlsx) ok() error {
	if err := w.ctx.Err(); err != nil {
		return fmt.Errorf("read workbook: %w", err)
	}
	return w.tables.Err()
}

// tolerate notes what is missing of a damaged part. It returns other errors.
func (w *xlsx) tolerate(err error, missing string) error {
	if err == nil {
		return nil
	}
	if _, damaged := errors.AsType[*document.DamagedError](err); !damaged && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w.note(missing, err)
	return nil
}

func (w *xlsx) note(missing string, cause error) {
	if len(w.damage) < 100 {
		w.damage = append(w.damage, missing)
	}
	if w.cause == nil {
		w.cause = cause
	}
}

func isTrue(value string) bool { return value == "1" || value == "true" || value == "on" }
