package web

import (
	"fmt"

	"bm/server/api"
)

// Limit is one of the sizes or numbers that the service takes.
type Limit struct{ What, Most string }

// limits is the table of the contract's limits.
func limits() []Limit {
	bytes := func(n int) string {
		if n >= 1<<20 {
			return fmt.Sprintf("%d MiB", n>>20)
		}
		return fmt.Sprintf("%d KiB", n>>10)
	}
	characters := func(n int) string { return fmt.Sprintf("%d characters", n) }
	return []Limit{
		{"JSON body", bytes(api.MaxJSONBody)},
		{"JSON body with a bookmark", bytes(api.MaxBookmarkBody)},
		{"JSON body with changes", fmt.Sprintf("%s, %d of them", bytes(api.MaxChangesBody), api.MaxChangesOps)},
		{"Import", fmt.Sprintf("%s, %d entries", bytes(api.MaxImportBody), api.MaxImportRows)},
		{"URL", bytes(api.MaxURL)},
		{"Title", characters(api.MaxTitle)},
		{"Description of a bookmark; reader excerpt", characters(api.MaxDescription)},
		{"Other descriptions and notes", characters(api.MaxNote)},
		{"Avatar and video address", characters(api.MaxLink)},
		{"Tags", fmt.Sprintf("%d of %d characters", api.MaxTags, api.MaxTag)},
		{"Folder name", characters(api.MaxFolderName)},
		{"Depth of the tree", fmt.Sprintf("%d folders", api.MaxTreeDepth)},
		{"Labels and names", characters(api.MaxName)},
		{"Extra attributes", bytes(api.MaxExtra)},
		{"Page of a list", fmt.Sprintf("%d, %d where nothing is said", api.MaxPageSize, api.DefaultPageSize)},
		{"Ids in a bulk operation", fmt.Sprint(api.MaxBulkIDs)},
		{"Trash", fmt.Sprintf("%d days", api.TrashDays)},
	}
}
