package provider

import "context"

// An Observe is called at the beginning of a call of a model, with its context. The caller calls ended
// once, with the error of the call and its context. A nil Observe observes nothing.
type Observe func(context.Context) (ended func(context.Context, error))

// Begin calls o.
func (o Observe) Begin(ctx context.Context) (ended func(context.Context, error)) {
	if o == nil {
		return func(context.Context, error) {}
	}
	return o(ctx)
}
