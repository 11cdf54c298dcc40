package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// scanDPI is how finely a page is drawn to be recognised. A page that is a picture is drawn as finely as that is, between
	// coarseDPI and fineDPI: pixels that are made up blur the letters.
	scanDPI   = 250
	coarseDPI = 150
	fineDPI   = 300
	// maxScanPixels is how many pixels such a picture may have; larger pages are drawn more coarsely.
	maxScanPixels = 24 << 20
	// scanBatch is how many pictures are kept at a time.
	scanBatch = 4
)

// withoutText is why a file of pictures is not read.
const (
	noRecogniser = "no text: the pages are images, and text recognition (tesseract) is not installed"
	noneFound    = "no text: the pages are images, and no text was recognised in them"
)

// isSilent tells whether a page has something on it, but no text.
func (p *page) isSilent() bool {
	return !p.damaged && !p.blank && len(p.lines) == 0 && len(p.recognised) == 0 && len(p.fields) == 0 && len(p.comments) == 0
}

// recognise reads the pages that have no text as pictures. Pages that cannot be drawn stay without text.
func (r *Reader) recognise(ctx context.Context, in document.Source, read *content) error {
	var silent []*page
	for i := range read.pages {
		if p := &read.pages[i]; p.isSilent() {
			silent = append(silent, p)
		}
	}
	if len(silent) == 0 {
		return nil
	}
	read.withoutText = noRecogniser
	if r.opt.OCR == nil {
		return nil
	}
	read.withoutText = noneFound
	var languages []string
	if language := strings.ToLower(read.info.language); len(language) >= 2 {
		languages = []string{language[:2]}
	}
	size := 0
	for start := 0; start < len(silent); start += scanBatch {
		batch := silent[start:min(start+scanBatch, len(silent))]
		pictures, err := r.draw(ctx, read.bytes, batch)
		if err != nil {
			return err
		}
		group, groupCtx := errgroup.WithContext(ctx)
		for i, p := range batch {
			if pictures[i] == nil {
				continue
			}
			group.Go(func() error {
				text, err := r.opt.OCR.Text(groupCtx, pictures[i], languages)
				if err != nil {
					return fmt.Errorf("recognise text of PDF page %d: %w", p.number, err)
				}
				p.recognised = paragraphs(text)
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for _, p := range batch {
			for _, text := range p.recognised {
				size += len(text)
			}
			if len(p.recognised) > 0 {
				read.recognised++
			}
		}
		if size > in.Limits.MaxText {
			return &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", in.Limits.MaxText)}
		}
	}
	return nil
}

// paragraphs cuts recognised text at its empty lines.
func paragraphs(text string) []string {
	var list []string
	for part := range strings.SplitSeq(text, "\n\n") {
		if part = strings.TrimSpace(tidy(part)); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// draw draws pages as PNG, nil for those that cannot be drawn. It holds a slot while it does.
func (r *Reader) draw(ctx context.Context, content []byte, pages []*page) ([][]byte, error) {
	engine, err := r.started(ctx)
	if err != nil {
		return nil, err
	}
	release, err := r.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	pictures := make([][]byte, len(pages))
	var f *file
	defer func() {
		if f != nil {
			f.discard()
		}
	}()
	for i, p := range pages {
		if f == nil {
			if f, err = r.open(ctx, engine, content); err != nil {
				return nil, err
			}
		}
		pictures[i], err = f.draw(ctx, p.number)
		if err == nil {
			continue
		}
		var tooLarge *document.LimitError
		if !isDamaged(err) && !errors.As(err, &tooLarge) {
			return nil, err
		}
		f.discard()
		f = nil
	}
	return pictures, nil
}

// draw draws one page in shades of grey, upright.
func (f *file) draw(ctx context.Context, number int) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, f.pageTime)
	defer cancel()
	picture, err := f.picture(limited, number)
	if f.err != nil && ctx.Err() == nil && limited.Err() != nil {
		return nil, &document.DamagedError{Format: formatName, Detail: "a page takes too long to draw", Cause: f.err}
	}
	if failed := f.failure(ctx); failed != nil {
		return nil, failed
	}
	if err != nil || picture == nil {
		return nil, err
	}
	var encoded bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&encoded, picture); err != nil {
		return nil, fmt.Errorf("draw PDF page %d: %w", number, err)
	}
	return encoded.Bytes(), nil
}

// picture returns a page as pixels, nil when it has no size.
func (f *file) picture(ctx context.Context, number int) (*image.Gray, error) {
	handle := f.call(ctx, "FPDF_LoadPage", f.document, uint64(number-1)) //nolint:gosec // counts from 1
	if handle == 0 {
		return nil, &document.DamagedError{Format: formatName, Detail: "a page cannot be read"}
	}
	width := math.Float64frombits(f.call(ctx, "FPDF_GetPageWidth", handle))
	height := math.Float64frombits(f.call(ctx, "FPDF_GetPageHeight", handle))
	if f.err != nil || !(width >= 1 && height >= 1) || width > 1e6 || height > 1e6 {
		return nil, nil //nolint:nilnil // a page without a size has no picture, which is no fault
	}
	scale := min(f.density(ctx, handle, width, height)/72, math.Sqrt(maxScanPixels/(width*height)))
	wide, high := max(int(width*scale), 1), max(int(height*scale), 1)
	if wide > 20_000 || high > 20_000 {
		return nil, nil //nolint:nilnil // a page of such a shape holds no text
	}
	const gray, white, annotations, inGray = 1, 0xFFFFFFFF, 1, 8
	bitmap := f.call(ctx, "FPDFBitmap_CreateEx", uint64(wide), uint64(high), gray, 0, 0)
	if bitmap == 0 {
		return nil, nil //nolint:nilnil // failure says why
	}
	f.call(ctx, "FPDFBitmap_FillRect", bitmap, 0, 0, uint64(wide), uint64(high), white)
	f.call(ctx, "FPDF_RenderPageBitmap", bitmap, handle, 0, 0, uint64(wide), uint64(high), 0, annotations|inGray)
	buffer, stride := f.call(ctx, "FPDFBitmap_GetBuffer", bitmap), f.number(ctx, "FPDFBitmap_GetStride", bitmap)
	if f.err != nil || stride < wide {
		return nil, nil //nolint:nilnil // failure says why
	}
	pixels, found := f.module.Memory().Read(uint32(buffer), uint32(stride*high)) //nolint:gosec // at most maxScanPixels
	if !found {
		return nil, nil //nolint:nilnil // there is no picture
	}
	picture := image.NewGray(image.Rect(0, 0, wide, high))
	for y := range high {
		copy(picture.Pix[y*picture.Stride:], pixels[y*stride:y*stride+wide])
	}
	f.call(ctx, "FPDFBitmap_Destroy", bitmap)
	f.call(ctx, "FPDF_ClosePage", handle)
	return picture, nil
}

// density returns how finely to draw a page, in pixels an inch.
func (f *file) density(ctx context.Context, handle uint64, width, height float64) float64 {
	const picture, looked = 3, 50
	for k := range min(f.number(ctx, "FPDFPage_CountObjects", handle), looked) {
		object := f.call(ctx, "FPDFPage_GetObject", handle, uint64(k))
		at := f.scratch
		if f.number(ctx, "FPDFPageObj_GetType", object) != picture ||
			f.number(ctx, "FPDFPageObj_GetBounds", object, at, at+4, at+8, at+12) == 0 {
			continue
		}
		box := make([]float64, 4) // left, bottom, right, top
		f.floats(box)
		wide, high := box[2]-box[0], box[3]-box[1]
		if wide*high < 0.5*width*height || f.number(ctx, "FPDFImageObj_GetImagePixelSize", object, at, at+4) == 0 {
			continue
		}
		// The picture may lie on its side.
		pixels := math.Sqrt(float64(f.word(0)) * float64(f.word(4)) / (wide * high))
		return min(max(72*pixels, coarseDPI), fineDPI)
	}
	return scanDPI
}
