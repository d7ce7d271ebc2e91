package browser

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
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
