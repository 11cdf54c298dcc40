// Package segment finds the words of scripts that are written without spaces:
// Thai, Lao, Khmer and Burmese.
//
// The dictionaries in data are those of ICU 72 (International Components for
// Unicode), in the format of its program gendict; data/LICENSE has their
// licences. They are read in place: nothing is loaded, and a process pays a
// megabyte of its binary for all four.
//
// The package imports the standard library alone.
package segment
