package exchange

import (
	"fmt"

	"bm/server/api"
)

// exportOrder is what an export writes, in the order in which it does.
type exportOrder struct {
	src      Source
	children map[string][]*api.Folder
}

// each tells what is in a folder, folders and bookmarks in one order. Where both
// have the same place, the folder is first.
func (o exportOrder) each(folderID string, folder func(*api.Folder) error, bookmark func(*api.Bookmark)) error {
	folders := o.children[folderID]
	for b, err := range o.src.Bookmarks(folderID) {
		if err != nil {
			return fmt.Errorf("export the bookmarks of a folder: %w", err)
		}
		for len(folders) > 0 && folders[0].SortOrder <= b.SortOrder {
			if err := folder(folders[0]); err != nil {
				return err
			}
			folders = folders[1:]
		}
		bookmark(b)
	}
	for _, f := range folders {
		if err := folder(f); err != nil {
			return err
		}
	}
	return nil
}
