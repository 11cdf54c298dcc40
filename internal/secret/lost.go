package secret

import (
	"errors"
	"fmt"
)

// LostMessage returns a text for people about secrets that do not open. what names
// the secrets ("The connector's credentials"), and remedy is what people can do
// ("enter them again").
func LostMessage(what, remedy string, err error) string {
	if missing, ok := errors.AsType[*KeyError](err); ok {
		return fmt.Sprintf("%s cannot be opened any more: they were sealed with the key %q, which SECRET_KEYS lacks; "+
			"%s, or have the operator put the key back.", what, printable(missing.ID), remedy)
	}
	return what + " cannot be opened any more; " + remedy + "."
}
