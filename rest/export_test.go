package rest

// WrapCursor exports wrapCursor.
var WrapCursor = wrapCursor

// AppendEvent exports appendEvent.
var AppendEvent = appendEvent
