// Package exchange reads and writes the files in which people carry their
// bookmarks around, and decides what an import does with each entry.
//
//   - [NewReader] tells a format by its content and reads it as a stream of
//     [Entry]: folders, bookmarks and separators, in an order in which a
//     folder always comes before what is in it. Memory does not grow with the
//     file.
//   - [Planner] turns entries into verdicts by the rules of the contract, the
//     same for the server's import and for the replica's offline one.
//   - [WriteHTML], [WriteJSON] and [WriteXBEL] write what NewReader reads back
//     unchanged.
//
// Everything is read as it was written; what must be cut or refused is judged
// by package rules, through the planner.
//
// It imports bm/server/api, golang.org/x/text and golang.org/x/net alone.
package exchange
