package tdsserver

import (
	"encoding/binary"
	"errors"
	"strconv"
)

var errRPC = errors.New("an RPC that the server does not know")

// rpcReader reads the parameters of an RPC.
type rpcReader struct {
	rest   []byte
	failed bool
}

func (r *rpcReader) bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.failed, r.rest = true, nil
		return make([]byte, min(max(n, 0), 16))
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *rpcReader) uint16() int { return int(binary.LittleEndian.Uint16(r.bytes(2))) }

// parseRPC parses a call of sp_executesql: the statement, the declaration of its
// parameters, and their values. Other procedures are called by their name, which is the
// statement then, without parameters.
func (q *Query) parseRPC(body []byte) error {
	body, err := withoutHeaders(body)
	if err != nil {
		return err
	}
	const byNumber, spExecuteSQL = 0xFFFF, 10
	r := &rpcReader{rest: body}
	q.Procedure = true
	if length := r.uint16(); length != byNumber {
		q.Text = decodeUTF16(r.bytes(2 * length))
		if r.uint16(); r.failed || len(r.rest) > 0 { // flags
			return errRPC
		}
		return nil
	}
	if r.uint16() != spExecuteSQL {
		return errRPC
	}
	r.uint16() // flags
	for i := 0; len(r.rest) > 0; i++ {
		value := r.parameter()
		if r.failed {
			return errRPC
		}
		switch i {
		case 0:
			q.Text = value
		case 1: // the declaration
		default:
			q.Arguments = append(q.Arguments, value)
		}
	}
	return nil
}

// parameter reads a text or an integer.
func (r *rpcReader) parameter() string {
	r.bytes(2 * int(r.bytes(1)[0])) // its name
	r.bytes(1)                      // flags
	const integer, nvarchar = 0x26, 0xE7
	switch r.bytes(1)[0] {
	case integer:
		r.bytes(1)
		raw := make([]byte, 8)
		copy(raw, r.bytes(int(r.bytes(1)[0])))
		return strconv.FormatUint(binary.LittleEndian.Uint64(raw), 10)
	case nvarchar:
		const inParts = 0xFFFF
		size := r.uint16()
		r.bytes(len(collation))
		if size != inParts {
			return decodeUTF16(r.bytes(r.uint16()))
		}
		r.bytes(8) // the length
		var all []byte
		for !r.failed {
			part := int(binary.LittleEndian.Uint32(r.bytes(4)))
			if part == 0 {
				return decodeUTF16(all)
			}
			all = append(all, r.bytes(part)...)
		}
	default:
		r.failed = true
	}
	return ""
}
