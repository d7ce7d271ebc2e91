// Package browser finds the browsers' profiles on this machine that hold
// bookmarks, and opens them as files that bm/server/api/exchange reads, while
// the browser runs or not. In a browser's folder nothing is ever written.
//
// Which browsers there are, and where each keeps its profiles on which system,
// is a table; which system it is, and where its folders are, is handed in.
//
// It imports the standard library, bm/localstore/places and the lock of files.
package browser
