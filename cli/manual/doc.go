// Package manual holds what documents the program itself: version, completion
// and man.
//
// The man pages are written here and not by cobra's own generator, whose
// Markdown libraries every start of the program would pay for.
package manual
