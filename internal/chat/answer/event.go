package answer

import (
	"encoding/json"
	"fmt"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
)

// The types of stored events.
const (
	typeStart    = "start"
	typeContent  = "content"
	typeSources  = "sources"
	typeFollowUp = "follow_up"
	typeDone     = "done"
	typeFailed   = "failed"
)

// typeOf returns the type of an event.
func typeOf(e chat.Event) string {
	switch e.(type) {
	case chat.Start:
		return typeStart
	case chat.Content:
		return typeContent
	case chat.Sources:
		return typeSources
	case chat.FollowUp:
		return typeFollowUp
	case chat.Done:
		return typeDone
	default:
		return typeFailed
	}
}

// decode returns a stored event. One of an unknown form is a failure.
func decode(kind string, data []byte) chat.Event {
	var out chat.Event
	var err error
	switch kind {
	case typeStart:
		out, err = read[chat.Start](data)
	case typeContent:
		out, err = read[chat.Content](data)
	case typeSources:
		out, err = read[chat.Sources](data)
	case typeFollowUp:
		out, err = read[chat.FollowUp](data)
	case typeDone:
		out, err = read[chat.Done](data)
	case typeFailed:
		out, err = read[chat.Failed](data)
	default:
		err = fmt.Errorf("unknown type %q", kind)
	}
	if err != nil {
		return chat.Failed{Code: apierr.Internal, Message: "Something went wrong on our side"}
	}
	return out
}

func read[T chat.Event](data []byte) (chat.Event, error) {
	var e T
	err := json.Unmarshal(data, &e)
	return e, err
}
