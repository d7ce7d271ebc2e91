package cli

import (
	"slices"
	"strings"
)

// filters are what a part of a query begins with that can be no flag.
var filters = []string{"tag:", "folder:", "site:", "is:", "before:", "after:", "#", `"`, "("}

// switches are the flags of bm search that take no value.
var switches = []string{
	"-c", "--count", "--saved", "--wait", "--offline", "--insecure-http", "--insecure-storage", "-h", "--help",
}

// queries has what a query leaves out taken for that and not for flags: -tag:x
// would be the flag -t and the tag "ag:x", and find nothing. The grammar of
// queries does not see a space in front.
func queries(args []string) []string {
	at := slices.Index(args, "search")
	if at < 0 || at > 0 && wantedNoun(args) != "" {
		return args
	}
	args = slices.Clone(args)
	for i := at + 1; i < len(args) && args[i] != "--"; i++ {
		rest, minus := strings.CutPrefix(args[i], "-")
		isFilter := func(start string) bool { return strings.HasPrefix(strings.ToLower(rest), start) }
		if minus && slices.ContainsFunc(filters, isFilter) && !wantsValue(args[i-1]) {
			args[i] = " " + args[i]
		}
	}
	return args
}

// wantsValue reports whether an argument is a flag whose value is the next one.
func wantsValue(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") && !slices.Contains(switches, arg)
}
