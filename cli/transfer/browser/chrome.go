package browser

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ErrEncrypted says that a browser keeps the bookmarks of a profile in files that
// nobody else can read.
var ErrEncrypted = errors.New("the browser keeps its bookmarks encrypted")

// chrome finds the folders with bookmarks. The folder of all of them may be a
// profile itself, as Opera's.
func (f *finder) chrome(b *browser, at place, root string) {
	path := filepath.Join(root, "Local State")
	text, err := readSome(path, maxLocalState)
	f.trouble(b, path, err)
	var state localState
	if err == nil {
		state, err = parseLocalState(text)
		f.trouble(b, path, err)
	}
	folders := append([]string{root}, f.folders(b, root)...)
	for _, folder := range append(folders, f.folders(b, filepath.Join(root, "_side_profiles"))...) {
		name := filepath.Base(folder)
		f.add(b, Profile{Kind: at.kind, Name: cmp.Or(state.names[name], name), Folder: folder, Default: name == state.last}, localFile, accountFile)
	}
}

// bare is up to how long a file of Chrome is that holds no bookmark: it has the
// roots, each with a date and an id.
const bare = 4 << 10

// isBare reports whether there is no bookmark in a file. Chrome leaves such files
// of who had some, and of accounts.
func isBare(path string, size int64) bool {
	if size > bare {
		return false
	}
	text, err := readSome(path, bare)
	if err != nil {
		return false // whoever asks for it is told why
	}
	found, err := findRoots(bytes.NewReader(text))
	return err == nil && !slices.ContainsFunc(found.list, func(r root) bool { return r.some })
}

// A Chrome of 2026 begins to keep bookmarks encrypted, with a key that the
// system's keyring holds: first beside the files that can be read, and at last
// instead of them.
const (
	// without is up to how long an encrypted file is that holds no bookmark.
	without = 200
	// together is within what time both files are written.
	together = time.Minute
)

// encrypted are the files of a profile that hold what no file beside them holds,
// or what is older there.
func encrypted(folder string) []string {
	var files []string
	for _, name := range []string{localFile, accountFile} {
		secret, err := os.Stat(filepath.Join(folder, "Encrypted"+name+"2"))
		if err != nil || secret.Size() <= without {
			continue
		}
		open, err := os.Stat(filepath.Join(folder, name))
		if err != nil || secret.ModTime().Sub(open.ModTime()) > together {
			files = append(files, secret.Name())
		}
	}
	return files
}
