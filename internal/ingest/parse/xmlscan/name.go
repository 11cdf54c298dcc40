package xmlscan

import (
	"hash/maphash"
	"strings"
)

// name is the name of an element or an attribute.
type name struct{ full, prefix, local string }

// Bounds of the names that are kept: a hostile file may invent a new one each time.
const (
	maxNames   = 4096
	nameSlots  = 256
	valueSlots = 1024
	maxValue   = 16
)

// names keeps the names that were seen, so that each is made once, and short values of attributes, which repeat too.
type names struct {
	recent [nameSlots]*name
	all    map[string]*name
	values [valueSlots]string
	seed   maphash.Seed
}

// take returns the name that the bytes spell. It is never empty.
func (n *names) take(spelled []byte) *name {
	length := len(spelled)
	slot := &n.recent[(int(spelled[0])*7+int(spelled[length-1])*31+int(spelled[length/2])*3+length*5)%nameSlots]
	if *slot != nil && (*slot).full == string(spelled) {
		return *slot
	}
	known, found := n.all[string(spelled)]
	if !found {
		known = &name{full: string(spelled)}
		known.local = known.full
		if at := strings.IndexByte(known.full, ':'); at >= 0 {
			known.prefix, known.local = known.full[:at], known.full[at+1:]
		}
		if n.all == nil {
			n.all = make(map[string]*name)
		}
		if len(n.all) < maxNames {
			n.all[known.full] = known
		}
	}
	*slot = known
	return known
}

// valueOf returns a value as a string.
func (n *names) valueOf(value []byte) string {
	if len(value) == 0 {
		return ""
	}
	if len(value) > maxValue {
		return string(value)
	}
	if n.seed == (maphash.Seed{}) {
		n.seed = maphash.MakeSeed()
	}
	slot := &n.values[maphash.Bytes(n.seed, value)%valueSlots]
	if *slot != string(value) {
		*slot = string(value)
	}
	return *slot
}
