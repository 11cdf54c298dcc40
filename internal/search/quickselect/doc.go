// Package quickselect moves the first elements of an order to the front of a list
// without sorting the list. It imports only the standard library.
package quickselect
