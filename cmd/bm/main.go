// Command bm keeps, shares and finds bookmarks.
package main

func main() {}
