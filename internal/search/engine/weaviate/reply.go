package weaviate

import (
	"fmt"
	"math"

	"github.com/google/uuid"
)

// result is an object that a search returned.
type result struct {
	passage, document uuid.UUID
	change            int64
	score             float32 // the greater, the better
}

// readSearch reads a SearchReply.
func readSearch(b []byte) ([]result, error) {
	var out []result
	err := each(b, func(f field) error {
		if f.number != replyResults {
			return nil
		}
		r, err := readResult(f.bytes)
		out = append(out, r)
		return err
	})
	return out, err
}

func readResult(b []byte) (result, error) {
	var r result
	err := each(b, func(f field) error {
		switch f.number {
		case resultMetadata:
			return each(f.bytes, func(f field) error {
				var err error
				switch f.number {
				case resultIDBytes:
					r.passage, err = uuid.FromBytes(f.bytes)
				case resultID:
					r.passage, err = uuid.ParseBytes(f.bytes)
				case resultScore:
					r.score = math.Float32frombits(uint32(f.bits)) //nolint:gosec // as the format has it
				case resultDistance:
					r.score = -math.Float32frombits(uint32(f.bits)) //nolint:gosec // as the format has it
				}
				return err
			})
		case resultProperties:
			return each(f.bytes, func(f field) error {
				if f.number != resultValues {
					return nil
				}
				return each(f.bytes, r.readProperty)
			})
		}
		return nil
	})
	if err == nil && r.passage == uuid.Nil {
		err = fmt.Errorf("%w: a result without an id", errMessage)
	}
	return r, err
}

// readProperty reads an entry of the map of properties.
func (r *result) readProperty(f field) error {
	if f.number != valuesFields {
		return nil
	}
	var name string
	var value []byte
	if err := each(f.bytes, func(f field) error {
		switch f.number {
		case entryKey:
			name = string(f.bytes)
		case entryValue:
			value = f.bytes
		}
		return nil
	}); err != nil {
		return err
	}
	return each(value, func(f field) error {
		var err error
		switch {
		case name == propertyDocument && (f.number == valueUUID || f.number == valueText || f.number == valueString):
			r.document, err = uuid.ParseBytes(f.bytes)
		case name == propertyChange && f.number == valueInt:
			r.change = int64(f.bits) //nolint:gosec // as the format has it
		case name == propertyChange && f.number == valueNumber:
			r.change = int64(math.Float64frombits(f.bits))
		}
		return err
	})
}

// objectError is what the engine says about one object of a batch.
type objectError struct {
	index int
	text  string
}

// readPut reads the errors of a BatchObjectsReply.
func readPut(b []byte) (all []objectError, err error) {
	err = each(b, func(f field) error {
		if f.number != batchErrors {
			return nil
		}
		var e objectError
		if err := each(f.bytes, func(f field) error {
			switch f.number {
			case errorIndex:
				e.index = int(int32(f.bits)) //nolint:gosec // as the format has it
			case errorText:
				e.text = string(f.bytes)
			}
			return nil
		}); err != nil {
			return err
		}
		all = append(all, e)
		return nil
	})
	return all, err
}

// deleted counts the objects of a deletion.
type deleted struct{ failed, matches, successful int64 }

// readDelete reads a BatchDeleteReply.
func readDelete(b []byte) (deleted, error) {
	var out deleted
	err := each(b, func(f field) error {
		switch n := int64(f.bits); f.number { //nolint:gosec // as the format has it
		case deletedFailed:
			out.failed = n
		case deletedMatches:
			out.matches = n
		case deletedSuccessful:
			out.successful = n
		}
		return nil
	})
	return out, err
}
