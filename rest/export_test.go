package rest

// WrapCursor is the cursor of a list as clients get it.
var WrapCursor = wrapCursor

// AppendEvent frames one Server-Sent Event.
var AppendEvent = appendEvent
