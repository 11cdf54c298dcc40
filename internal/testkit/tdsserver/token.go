package tdsserver

import (
	"encoding/binary"
	"math"
	"math/big"
	"strings"
	"time"
)

// Tokens of replies.
const (
	tokenReturnStatus = 0x79
	tokenColumns      = 0x81
	tokenError        = 0xAA
	tokenInfo         = 0xAB
	tokenLoginAck     = 0xAD
	tokenRow          = 0xD1
	tokenEnvChange    = 0xE3
	tokenDone         = 0xFD
	tokenDoneProc     = 0xFE
	tokenDoneInProc   = 0xFF

	doneFinal     = 0x00
	doneError     = 0x02
	doneCount     = 0x10
	doneAttention = 0x20

	envDatabase   = 1
	envPacketSize = 4
	envCollation  = 7
	envBegin      = 8
	envRollback   = 10
)

// A Type is the type of a column.
type Type int

// The types that columns can have. Values are int or int64, string, bool, float64,
// a decimal number with two digits as string, []byte, time.Time, and nil for NULL.
const (
	Int Type = iota
	BigInt
	NVarChar
	Bit
	Float
	Decimal
	VarBinary
	DateTime
	UniqueIdentifier
)

// A Column is a column of a result.
type Column struct {
	Name string
	Type Type
}

// collation is Latin1_General_CI_AS.
var collation = [5]byte{0x09, 0x04, 0xD0, 0x00, 0x34}

// tokens builds a reply.
type tokens struct{ body []byte }

func (b *tokens) bytes(values ...byte) { b.body = append(b.body, values...) }
func (b *tokens) uint16(n int)         { b.body = binary.LittleEndian.AppendUint16(b.body, uint16(n)) } //nolint:gosec // lengths in tests
func (b *tokens) uint32(n uint32)      { b.body = binary.LittleEndian.AppendUint32(b.body, n) }
func (b *tokens) uint64(n uint64)      { b.body = binary.LittleEndian.AppendUint64(b.body, n) }

// short appends a text with its length in characters in one byte.
func (b *tokens) short(text string) {
	raw := encodeUTF16(text)
	b.bytes(byte(len(raw) / 2)) //nolint:gosec // names in tests
	b.bytes(raw...)
}

// block appends a token with its length in two bytes.
func (b *tokens) block(token byte, write func(*tokens)) {
	var inner tokens
	write(&inner)
	b.bytes(token)
	b.uint16(len(inner.body))
	b.bytes(inner.body...)
}

func (b *tokens) done(token byte, status int, rows int) {
	b.bytes(token)
	b.uint16(status)
	b.uint16(0xC1)         // SELECT
	b.uint64(uint64(rows)) //nolint:gosec // not negative
}

func (b *tokens) message(token byte, e Error) {
	b.block(token, func(b *tokens) {
		b.uint32(uint32(e.Number)) //nolint:gosec // not negative
		class := byte(16)
		if token == tokenInfo {
			class = 10
		}
		b.bytes(1, class)
		raw := encodeUTF16(e.Message)
		b.uint16(len(raw) / 2)
		b.bytes(raw...)
		b.short("TDS")
		b.short("")
		b.uint32(1)
	})
}

func (b *tokens) environment(kind byte, now, before string) {
	b.block(tokenEnvChange, func(b *tokens) {
		b.bytes(kind)
		b.short(now)
		b.short(before)
	})
}

// transaction says that a transaction began or was rolled back.
func (b *tokens) transaction(kind byte, descriptor uint64) {
	b.block(tokenEnvChange, func(b *tokens) {
		b.bytes(kind)
		if kind == envBegin {
			b.bytes(8)
			b.uint64(descriptor)
			b.bytes(0)
			return
		}
		b.bytes(0, 8)
		b.uint64(descriptor)
	})
}

func (b *tokens) columns(columns []Column) {
	b.bytes(tokenColumns)
	b.uint16(len(columns))
	for _, c := range columns {
		b.uint32(0)
		b.uint16(0x0001) // nullable
		switch c.Type {
		case Int:
			b.bytes(0x26, 4)
		case BigInt:
			b.bytes(0x26, 8)
		case Bit:
			b.bytes(0x68, 1)
		case Float:
			b.bytes(0x6D, 8)
		case Decimal:
			b.bytes(0x6A, 9, 18, 2)
		case DateTime:
			b.bytes(0x6F, 8)
		case UniqueIdentifier:
			b.bytes(0x24, 16)
		case VarBinary:
			b.bytes(0xA5)
			b.uint16(8000)
		default:
			b.bytes(0xE7)
			b.uint16(8000)
			b.bytes(collation[:]...)
		}
		b.short(c.Name)
	}
}

func (b *tokens) row(columns []Column, values []any) {
	b.bytes(tokenRow)
	for i, c := range columns {
		b.value(c.Type, values[i])
	}
}

func (b *tokens) value(kind Type, value any) {
	long := kind == NVarChar || kind == VarBinary // with a length of two bytes
	switch value := value.(type) {
	case nil:
		if long {
			b.uint16(0xFFFF)
		} else {
			b.bytes(0)
		}
	case bool:
		b.bytes(1, map[bool]byte{true: 1}[value])
	case int:
		b.integer(kind, int64(value))
	case int64:
		b.integer(kind, value)
	case float64:
		b.bytes(8)
		b.uint64(math.Float64bits(value))
	case time.Time:
		day := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
		days := int(value.Sub(day).Hours() / 24)
		b.bytes(8)
		b.uint32(uint32(days))                                                           //nolint:gosec // after 1900
		b.uint32(uint32(value.Sub(day.AddDate(0, 0, days)).Milliseconds() * 300 / 1000)) //nolint:gosec // within a day
	case []byte:
		if long {
			b.uint16(len(value))
		} else {
			b.bytes(byte(len(value))) //nolint:gosec // of a UUID
		}
		b.bytes(value...)
	case string:
		if kind == Decimal {
			b.decimal(value)
			return
		}
		raw := encodeUTF16(value)
		b.uint16(len(raw))
		b.bytes(raw...)
	}
}

func (b *tokens) integer(kind Type, n int64) {
	if kind == BigInt {
		b.bytes(8)
		b.uint64(uint64(n)) //nolint:gosec // its bits
		return
	}
	b.bytes(4)
	b.uint32(uint32(n)) //nolint:gosec // its bits
}

// decimal appends a number with two digits behind the point.
func (b *tokens) decimal(text string) {
	digits, _ := new(big.Int).SetString(strings.Replace(text, ".", "", 1), 10)
	sign := byte(1)
	if digits.Sign() < 0 {
		sign = 0
	}
	b.bytes(9, sign)
	b.uint64(new(big.Int).Abs(digits).Uint64())
}
