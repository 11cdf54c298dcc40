package pdf

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
)

// maxRepaired is how many pages of a damaged file are found.
const maxRepaired = 20_000

var (
	// pageMark matches the type of a page, not of the page tree.
	pageMark = regexp.MustCompile(`/Type\s*/Page[^s\w]`)
	// objectHead matches the start of an object.
	objectHead = regexp.MustCompile(`(\d{1,8})\s+(\d{1,5})\s+obj\s*<<[^>]*$`)
)

// repaired returns a file whose list of objects is missing, with a new list of the pages that it contains, or nil if
// there are none. Pages in compressed objects are not found.
func repaired(content []byte) []byte {
	var pages []string
	highest := 0
	for _, at := range pageMark.FindAllIndex(content, maxRepaired) {
		// The dictionary before the mark is short. An array or dictionary in it may end with ">".
		window := content[max(0, at[0]-2048):at[0]]
		if end := bytes.LastIndex(window, []byte("endobj")); end >= 0 {
			window = window[end:]
		}
		window = bytes.ReplaceAll(window, []byte(">"), []byte(" "))
		head := objectHead.FindSubmatch(window)
		if head == nil {
			continue
		}
		number, err := strconv.Atoi(string(head[1]))
		if err != nil {
			continue
		}
		highest = max(highest, number)
		pages = append(pages, fmt.Sprintf("%s %s R", head[1], head[2]))
	}
	if len(pages) == 0 {
		return nil
	}
	// Numbers above those of the file, up to the highest that pdfium accepts.
	catalog := min(highest+100_000, 4_000_000)
	var b bytes.Buffer
	b.Grow(len(content) + 16*len(pages) + 512)
	b.Write(content)
	fmt.Fprintf(&b, "\nendstream\nendobj\n%d 0 obj\n<< /Type /Catalog /Pages %d 0 R >>\nendobj\n%d 0 obj\n<< /Type /Pages /Count %d /Kids [",
		catalog, catalog+1, catalog+1, len(pages))
	for _, page := range pages {
		b.WriteString(page + "\n")
	}
	fmt.Fprintf(&b, "] >>\nendobj\ntrailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n0\n%%%%EOF\n", catalog+2, catalog)
	return b.Bytes()
}
