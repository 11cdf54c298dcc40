// Package all lists the platforms whose tools agents can call.
//
// Allowed imports: agents/integration and the packages below it.
package all
