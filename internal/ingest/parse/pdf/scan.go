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
	// scanDPI is the resolution for text recognition. A page that is an image is drawn in the resolution of the image,
	// from coarseDPI to fineDPI, since interpolated pixels blur the letters.
	scanDPI   = 250
	coarseDPI = 150
	fineDPI   = 300
	// maxScanPixels is how many pixels an image may have. Larger pages are drawn in a lower resolution.
	maxScanPixels = 24 << 20
	// scanBatch is how many images are in memory at a time.
	scanBatch = 4
)

// Reasons why a file of images has no text.
const (
	noRecogniser = "no text: the pages are images, and text recognition (tesseract) is not installed"
	noneFound    = "no text: the pages are images, and no text was recognised in them"
)

// isSilent reports whether a page has content, but no text.
func (p *page) isSilent() bool {
	return !p.isDamaged && !p.isEmpty && len(p.lines) == 0 && len(p.recognized) == 0 && len(p.fields) == 0 && len(p.comments) == 0
}

// recognize reads the pages without text as images. Pages that cannot be drawn have no text.
func (r *Reader) recognize(ctx context.Context, in document.Source, read *content) error {
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
		pictures, err := r.draw(ctx, read.opened, batch)
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
				p.recognized = paragraphs(text)
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for _, p := range batch {
			for _, text := range p.recognized {
				size += len(text)
			}
			if len(p.recognized) > 0 {
				read.recognized++
			}
		}
		if size > in.Limits.MaxText {
			return &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", in.Limits.MaxText)}
		}
	}
	return nil
}

// paragraphs splits recognized text at its empty lines.
func paragraphs(text string) []string {
	var list []string
	for part := range strings.SplitSeq(text, "\n\n") {
		if part = strings.TrimSpace(tidy(part)); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// draw draws pages as PNG, nil for those that cannot be drawn. It occupies a slot.
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

// draw draws a page in gray, upright, as PNG. It returns nil if the page has no image.
func (f *file) draw(ctx context.Context, number int) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, f.pageTime)
	defer cancel()
	picture, ok, err := f.picture(limited, number)
	if f.err != nil && ctx.Err() == nil && limited.Err() != nil {
		return nil, &document.DamagedError{Format: formatName, Detail: "a page takes too long to draw", Cause: f.err}
	}
	if failed := f.failure(ctx); failed != nil {
		return nil, failed
	}
	if err != nil || !ok {
		return nil, err
	}
	var encoded bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&encoded, picture); err != nil {
		return nil, fmt.Errorf("draw PDF page %d: %w", number, err)
	}
	return encoded.Bytes(), nil
}

// picture draws a page. It is false for a page without a usable size, and after a failed call.
func (f *file) picture(ctx context.Context, number int) (picture *image.Gray, ok bool, err error) {
	handle := f.call(ctx, "FPDF_LoadPage", f.document, uint64(number-1)) //nolint:gosec // counts from 1
	if handle == 0 {
		return nil, false, &document.DamagedError{Format: formatName, Detail: "a page cannot be read"}
	}
	width := math.Float64frombits(f.call(ctx, "FPDF_GetPageWidth", handle))
	height := math.Float64frombits(f.call(ctx, "FPDF_GetPageHeight", handle))
	if f.err != nil || !(width >= 1 && height >= 1) || width > 1e6 || height > 1e6 {
		return nil, false, nil
	}
	scale := min(f.density(ctx, handle, width, height)/72, math.Sqrt(maxScanPixels/(width*height)))
	wide, high := max(int(width*scale), 1), max(int(height*scale), 1)
	if wide > 20_000 || high > 20_000 {
		return nil, false, nil
	}
	const gray, white, annotations, inGray = 1, 0xFFFFFFFF, 1, 8
	bitmap := f.call(ctx, "FPDFBitmap_CreateEx", uint64(wide), uint64(high), gray, 0, 0)
	if bitmap == 0 {
		return nil, false, nil
	}
	f.call(ctx, "FPDFBitmap_FillRect", bitmap, 0, 0, uint64(wide), uint64(high), white)
	f.call(ctx, "FPDF_RenderPageBitmap", bitmap, handle, 0, 0, uint64(wide), uint64(high), 0, annotations|inGray)
	buffer, stride := f.call(ctx, "FPDFBitmap_GetBuffer", bitmap), f.number(ctx, "FPDFBitmap_GetStride", bitmap)
	if f.err != nil || stride < wide {
		return nil, false, nil
	}
	pixels, found := f.module.Memory().Read(uint32(buffer), uint32(stride*high)) //nolint:gosec // at most maxScanPixels
	if !found {
		return nil, false, nil
	}
	picture = image.NewGray(image.Rect(0, 0, wide, high))
	for y := range high {
		copy(picture.Pix[y*picture.Stride:], pixels[y*stride:y*stride+wide])
	}
	f.call(ctx, "FPDFBitmap_Destroy", bitmap)
	f.call(ctx, "FPDF_ClosePage", handle)
	return picture, true, nil
}

// density returns the resolution for a page, in pixels per inch.
func (f *file) density(ctx context.Context, handle uint64, width, height float64) float64 {
	const picture, maxObjects = 3, 50
	for k := range min(f.number(ctx, "FPDFPage_CountObjects", handle), maxObjects) {
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
		// The image may be rotated.
		pixels := math.Sqrt(float64(f.word(0)) * float64(f.word(4)) / (wide * high))
		return min(max(72*pixels, coarseDPI), fineDPI)
	}
	return scanDPI
}
