// Package cfbtest writes compound files for tests. It may import the standard library only.
package cfbtest
