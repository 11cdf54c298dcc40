package xmlscan

import (
	"hash/maphash"
	"strings"
)

// name is the name of an element or attribute.
type name struct{ full, prefix, local string }

// Limits of the cache of names. A hostile file may contain a new name each time.
const (
	maxNames   = 4096
	nameSlots  = 256
	valueSlots = 1024
	maxValue   = 16
)

// names caches names, and short values of attributes, so that repeated ones are allocated once.
type names struct {
	recent [nameSlots]*name
	all    map[string]*name
	values [valueSlots]string
	seed   maphash.Seed
}

// intern returns a name. The bytes must not be empty.
func (n *names) intern(spelled []byte) *name {
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

// value returns an attribute value as a string.
func (n *names) value(value []byte) string {
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
