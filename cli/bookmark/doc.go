// Package bookmark holds the commands about bookmarks themselves: add, get, ls,
// search, open, edit, mv, rm, restore, random and dupes.
package bookmark
