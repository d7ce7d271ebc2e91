package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"bm/cli/app"
	"bm/cli/transfer/browser"
	"bm/localstore/places"
)

// Whatever keeps a profile from being read, what it is and what to do is said.
func TestWhyAProfileIsNotReadIsSaid(t *testing.T) {
	firefox := &browser.Profile{Title: "Firefox", Engine: browser.Firefox, Folder: "/home/me/f\x1b[2J"}
	safari := &browser.Profile{Title: "Safari", Engine: browser.Safari, Folder: "/Users/me/Library/Safari"}
	denied := &fs.PathError{Op: "open", Path: "x", Err: syscall.EPERM}
	for name, test := range map[string]struct {
		err       error
		says, try string
	}{
		"damaged": {
			unread(firefox, fmt.Errorf("copy: %w", places.ErrDamaged)),
			"The database of Firefox in /home/me/f␛[2J is damaged. Nothing was imported.", "bm import FILE, with the newest in /home/me/f␛[2J/bookmarkbackups",
		},
		"foreign": {unread(firefox, places.ErrForeign), "holds no bookmarks.", "bm browsers"},
		"busy":    {unread(firefox, places.ErrBusy), "Firefox is rewriting its database just now.", "once Firefox is closed"},
		"no room": {unread(firefox, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), "The disk is full: there is no room for a copy of Firefox's database.", "df -h"},
		"denied":  {unread(firefox, denied), "can't be read: operation not permitted.", "ls -ld "},
		"broken":  {unread(firefox, &browser.BrokenError{Path: "/x/AccountBookmarks", Err: errors.New("no JSON")}), "/x/AccountBookmarks can't be read: no JSON.", "Firefox exported"},
		"Safari":  {unread(safari, denied), "Safari in /Users/me/Library/Safari can't be read", "Full Disk Access"},
		"Safari, where it is looked for": {
			barred(&browser.Trouble{Title: "Safari", Engine: browser.Safari, Path: "/Users/me/Library/Safari", Err: denied}),
			"Safari can't be looked for in /Users/me/Library/Safari: operation not permitted.", "Full Disk Access",
		},
		"encrypted": {
			barred(&browser.Trouble{Title: "Chrome", Engine: browser.Chrome, Path: "/p", Err: browser.ErrEncrypted}),
			"Chrome keeps the bookmarks in /p encrypted", "with one that Chrome exported",
		},
	} {
		t.Run(name, func(t *testing.T) {
			told, ok := errors.AsType[*app.Error](test.err)
			if !ok || told.Kind != app.Failed || !strings.Contains(told.Message, test.says) || !strings.Contains(told.Next, test.try) {
				t.Errorf("%+v", test.err)
			}
		})
	}
}
