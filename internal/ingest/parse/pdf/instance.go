package pdf

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium"
	"github.com/tetratelabs/wazero/api"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// scratchSize is the size of the memory for results of calls.
	scratchSize = 16 << 10
	// maxString is the longest string that is read from pdfium, in bytes: titles, targets of links, values.
	maxString = 1 << 20
)

// An instance is pdfium with one document. It is not safe for concurrent use. After a call has failed, all others
// return 0, and err has the reason, so callers only need to check it where it matters.
type instance struct {
	pdfium    pdfium.Pdfium
	module    api.Module
	functions map[string]api.Function
	names     map[string]uint64 // addresses
	memory    *memory
	stack     [10]uint64
	scratch   uint64 // address of scratchSize bytes
	err       error
}

// discard closes the instance.
func (i *instance) discard() {
	// An error of closing has no consequences.
	_ = i.pdfium.Kill()
}

// call calls a function of pdfium. Floating-point numbers are passed and returned as bits.
func (i *instance) call(ctx context.Context, name string, arguments ...uint64) uint64 {
	if i.err != nil {
		return 0
	}
	function, known := i.functions[name]
	if !known {
		if function = i.module.ExportedFunction(name); function == nil {
			i.err = fmt.Errorf("pdfium has no function %s", name)
			return 0
		}
		i.functions[name] = function
	}
	copy(i.stack[:], arguments)
	if err := function.CallWithStack(ctx, i.stack[:]); err != nil {
		i.err = err
		return 0
	}
	return i.stack[0]
}

// number is call for functions that return a signed number.
func (i *instance) number(ctx context.Context, name string, arguments ...uint64) int {
	return int(int32(uint32(i.call(ctx, name, arguments...)))) //nolint:gosec // the upper half is no part of the result
}

// failure returns the error of a failed call in the terms of a reader, or nil.
func (i *instance) failure(ctx context.Context) error {
	switch {
	case i.err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("read PDF: %w", ctx.Err())
	case i.memory.isRefused:
		return &document.LimitError{Detail: fmt.Sprintf("the PDF takes more than %d MiB of memory to read", i.memory.limit>>20)}
	}
	return &document.DamagedError{Format: formatName, Detail: "the content of a page cannot be processed", Cause: i.err}
}

// put copies bytes into the memory of the instance and returns their address, 0 if they do not fit. They are never
// freed.
func (i *instance) put(ctx context.Context, content []byte) uint64 {
	address := i.call(ctx, "malloc", uint64(len(content))+1)
	if address == 0 || !i.module.Memory().Write(uint32(address), content) || //nolint:gosec // an address has 32 bits
		!i.module.Memory().WriteByte(uint32(address)+uint32(len(content)), 0) { //nolint:gosec // and stays below 2^32
		return 0
	}
	return address
}

// bytes returns n bytes at an offset of the scratch memory. They are valid until the next call.
func (i *instance) bytes(offset, n uint64) []byte {
	content, found := i.module.Memory().Read(uint32(i.scratch+offset), uint32(n)) //nolint:gosec // an address has 32 bits
	if !found {
		return make([]byte, n)
	}
	return content
}

// floats reads numbers of 32 bits at the start of the scratch memory.
func (i *instance) floats(to []float64) {
	content := i.bytes(0, uint64(len(to))*4)
	for k := range to {
		to[k] = finite(float64(math.Float32frombits(binary.LittleEndian.Uint32(content[4*k:]))))
	}
}

// double reads a number of 64 bits in the scratch memory.
func (i *instance) double(offset uint64) float64 {
	return finite(math.Float64frombits(binary.LittleEndian.Uint64(i.bytes(offset, 8))))
}

// word reads an unsigned number of 32 bits in the scratch memory.
func (i *instance) word(offset uint64) uint64 {
	return uint64(binary.LittleEndian.Uint32(i.bytes(offset, 4)))
}

// raw calls a function that writes to a buffer. The last arguments of the function are the buffer and its size, its
// result is the length.
func (i *instance) raw(ctx context.Context, name string, arguments ...uint64) []byte {
	size := i.call(ctx, name, append(arguments, i.scratch, scratchSize)...)
	switch {
	case i.err != nil || size == 0 || size > maxString:
		return nil
	case size <= scratchSize:
		return i.bytes(0, size)
	}
	buffer := i.call(ctx, "malloc", size)
	if buffer == 0 {
		return nil
	}
	size = min(size, i.call(ctx, name, append(arguments, buffer, size)...))
	content, found := i.module.Memory().Read(uint32(buffer), uint32(size)) //nolint:gosec // an address has 32 bits
	if !found {
		return nil
	}
	content = append([]byte(nil), content...)
	i.call(ctx, "free", buffer)
	return content
}

// wide is raw for zero-terminated UTF-16.
func (i *instance) wide(ctx context.Context, name string, arguments ...uint64) string {
	content := i.raw(ctx, name, arguments...)
	units := make([]uint16, 0, len(content)/2)
	for k := 0; k+1 < len(content); k += 2 {
		unit := binary.LittleEndian.Uint16(content[k:])
		if unit == 0 {
			break
		}
		units = append(units, unit)
	}
	return tidy(string(utf16.Decode(units)))
}

// narrow is raw for a zero-terminated byte string.
func (i *instance) narrow(ctx context.Context, name string, arguments ...uint64) string {
	content := i.raw(ctx, name, arguments...)
	for k, b := range content {
		if b == 0 {
			content = content[:k]
			break
		}
	}
	return tidy(string(content))
}

// name returns the address of a string in the memory of the instance.
func (i *instance) name(ctx context.Context, text string) uint64 {
	address, known := i.names[text]
	if !known {
		address = i.put(ctx, []byte(text))
		i.names[text] = address
	}
	return address
}

// finite returns 0 for a value that is not a number or is too large.
func finite(value float64) float64 {
	if math.IsNaN(value) || math.Abs(value) > 1e7 {
		return 0
	}
	return value
}
