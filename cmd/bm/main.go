// Command bm keeps, shares and finds bookmarks: on this machine first, and on
// a server that it can host itself.
package main

import (
	"os"

	"bm/cli"
)

// version is set by the release's build.
var version = "dev"

func main() { os.Exit(cli.Main(version)) }
