package engine

import (
	"fmt"
	"math"
)

// maxClassName is the longest name of a class in bytes.
const maxClassName = 230

// Validate reports what is wrong with a class that is to be created.
func (c *Class) Validate() error {
	switch {
	case !ValidName(c.Name):
		return fmt.Errorf("class %q: a name is an upper-case letter, then letters, digits and underscores", c.Name)
	case c.Dimensions < 0:
		return fmt.Errorf("class %s: %d dimensions", c.Name, c.Dimensions)
	case c.Shards < 0:
		return fmt.Errorf("class %s: %d shards", c.Name, c.Shards)
	case c.Replicas < 1:
		return fmt.Errorf("class %s: %d replicas of each shard, want one at least", c.Name, c.Replicas)
	}
	return nil
}

// ValidName reports whether a class can have the name. Backends put names into paths of
// requests, so that no other name may reach them.
func ValidName(name string) bool {
	if len(name) == 0 || len(name) > maxClassName || name[0] < 'A' || name[0] > 'Z' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// CheckVector returns an error for a vector that a class with so many dimensions cannot
// store or be asked for. Nil is a vector of any class.
func CheckVector(vector []float32, dimensions int) error {
	if vector == nil {
		return nil
	}
	if len(vector) != dimensions {
		return fmt.Errorf("a vector has %d dimensions, those of the class have %d", len(vector), dimensions)
	}
	for _, x := range vector {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("a vector has the component %v", x)
		}
	}
	return nil
}
