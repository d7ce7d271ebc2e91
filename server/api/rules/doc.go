// Package rules holds what every writer of a bookmark or folder must obey, in
// one place for the REST operations, the import, the change feed and the
// offline replica, so that nothing is accepted in one and refused in another.
//
// There are three kinds of function:
//
//   - normal forms ([Tags], [Line], [Text], [NormalizeBookmark]) and the keys
//     by which normalised things are compared ([TagKey], [NameKey], [URLKey]);
//   - checks for a caller that can be told to do better ([CheckBookmark],
//     [CheckFolder]): each offence is reported, nothing is changed;
//   - cuts for an import and for the change feed ([CutBookmark],
//     [CutFolder]), where twenty years of links must not be lost over one
//     overlong title: what is out of bounds is made to fit, and noted.
//
// It imports bm/server/api, golang.org/x/text and golang.org/x/net alone and
// does no I/O.
package rules
