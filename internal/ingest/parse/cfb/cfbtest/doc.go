// Package cfbtest writes compound files for tests of what reads them. It may import the standard library only.
package cfbtest
