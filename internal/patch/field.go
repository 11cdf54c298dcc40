package patch

// A Field is a new value for one field of a row. The zero Field leaves the row's
// value as it is.
type Field[T any] struct {
	Given bool
	Value T
}

// Set returns a Field that sets value.
func Set[T any](value T) Field[T] { return Field[T]{Given: true, Value: value} }

// SetIfNotNil returns a Field that sets *value, or the zero Field if value is nil.
func SetIfNotNil[T any](value *T) Field[T] {
	if value == nil {
		return Field[T]{}
	}
	return Set(*value)
}

// Apply calls set with the value of f, or clear if that is nil. It calls neither
// if f is not given.
func Apply[T, U any](f Field[*T], set func(T) U, clear func() U) {
	if f.Given {
		SetOrClear(f.Value, set, clear)
	}
}

// SetOrClear calls set with *value, or clear if value is nil.
func SetOrClear[T, U any](value *T, set func(T) U, clear func() U) {
	if value != nil {
		set(*value)
	} else {
		clear()
	}
}
