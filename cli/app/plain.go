package app

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"bm/cli/output"
)

// Plain is an error's message without the chain of what was being done, which
// means nothing to who typed the command: the first clause and the last.
func Plain(err error) string {
	text := output.CleanText(err.Error())
	parts := strings.Split(text, ": ")
	if verb, _, _ := strings.Cut(parts[0], " "); len(parts) > 1 && slices.Contains(verbs, verb) {
		// Alone it would read as what is to be done next.
		parts[0] = "can't " + parts[0]
		text = "can't " + text
	}
	if len(parts) <= 2 {
		return text
	}
	middle := ": "
	if at, ok := errors.AsType[*fs.PathError](err); ok && !strings.ContainsAny(parts[0], `./\`) {
		middle += output.CleanText(at.Path) + ": " // which nothing else names
	}
	return parts[0] + middle + parts[len(parts)-1]
}

// verbs are the words that errors say with what failed to be done.
var verbs = []string{
	"add", "apply", "ask", "attach", "bring", "check", "close", "compute", "count", "create", "delete", "drop", "encode", "end", "export",
	"fill", "find", "forget", "hear", "index", "install", "keep", "list", "listen", "lock", "look", "make", "measure", "mend", "merge", "move",
	"note", "open", "parse", "plan", "put", "reach", "read", "release", "remove", "rename", "resolve", "rotate", "run", "save", "see", "start",
	"take", "understand", "undo", "uninstall", "unite", "wait", "write",
}
