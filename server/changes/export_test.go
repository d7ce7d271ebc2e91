package changes

import "bm/server/api"

// Poke writes the events of a stream.
var Poke = poke

// Fields are those that an op can set.
func Fields() map[api.EntityType][]string {
	return map[api.EntityType][]string{api.TypeBookmark: bookmarkFields, api.TypeFolder: folderFields}
}
