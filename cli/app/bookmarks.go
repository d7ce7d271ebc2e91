package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

// PickBookmark finds the one live bookmark that ref means: an id, the
// beginning of one, or a URL, as short as bm add takes it.
func PickBookmark(ctx context.Context, store *localstore.Store, replica int64, ref string) (localstore.Bookmark, error) {
	found, err := store.FindBookmarks(ctx, replica, ref, maxNamed)
	for _, other := range []string{strings.ToLower(ref), CompleteURL(ref)} {
		// What isn't there as it was typed may be an id in capitals, or a URL
		// without its scheme.
		if api.CodeOf(err) == api.CodeNotFound && other != ref {
			found, err = store.FindBookmarks(ctx, replica, other, maxNamed)
		}
	}
	if api.CodeOf(err) == api.CodeNotFound {
		e := Fail(NotFound, "There is no bookmark %q.", output.Clean(ref)).
			Try("bm search WORDS   finds it; bm ls --deleted shows what was deleted").Because(err)
		if ref != "" && len(ref) < minPrefix && strings.Trim(strings.ToLower(ref), "0123456789abcdef") == "" {
			return localstore.Bookmark{}, e.Try("more of the id: at least %d characters of its beginning", minPrefix)
		}
		return localstore.Bookmark{}, e
	}
	if err != nil {
		return localstore.Bookmark{}, err
	}
	if len(found) > 1 {
		e := Fail(Usage, "%q means several bookmarks:", output.Clean(ref))
		for i := range found {
			if i == maxNamed-1 {
				e.Message += "\n  …"
				break
			}
			e.Message += fmt.Sprintf("\n  %s  %s", found[i].ID, output.Clean(TitleOf(&found[i])))
		}
		return localstore.Bookmark{}, e.Try("the same command with one of these ids")
	}
	return found[0], nil
}

// maxNamed is one more than are named of several that a reference may mean.
const maxNamed = 11

// SayNone tells somebody who sees no rows why there are none: a program sees
// it by itself. It is about a workspace, or with nil about none.
func (a *App) SayNone(replica *localstore.Replica, why string) {
	if !a.IO.OutTTY {
		return
	}
	if replica != nil && replica.State == localstore.StateBootstrapping {
		why = fmt.Sprintf("%s is still on its way from the server: bm sync waits for it.", replica.Name)
	}
	fmt.Fprintln(a.IO.Err, output.Clean(why))
}

// TitleOf is what a bookmark is called: the URL stands in for a title.
func TitleOf(b *localstore.Bookmark) string {
	if b.Title == "" {
		return b.URL
	}
	return b.Title
}

// ShortID is as much of an id as tells bookmarks apart that were added in one
// go: the time and the counter.
func ShortID(id string) string { return id[:min(len(id), shownPrefix)] }

// PickBookmarks finds each of several.
func PickBookmarks(ctx context.Context, store *localstore.Store, replica int64, refs []string) ([]localstore.Bookmark, error) {
	list := make([]localstore.Bookmark, 0, len(refs))
	seen := map[string]bool{}
	for _, ref := range refs {
		b, err := PickBookmark(ctx, store, replica, ref)
		if err != nil {
			return nil, err
		}
		if !seen[b.ID] {
			seen[b.ID] = true
			list = append(list, b)
		}
	}
	return list, nil
}

// IDs are the ids of bookmarks.
func IDs(list []localstore.Bookmark) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

// completions is what is offered at most.
const completions = 200

// CompleteFolders offers the paths of folders.
func (a *App) CompleteFolders(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(cmd, func(ctx context.Context, store *localstore.Store, replica int64) ([]string, error) {
		tree, err := store.Folders(ctx, replica)
		var paths []string
		for i := range tree {
			paths = append(paths, tree[i].Path)
		}
		return paths, err
	})
}

// CompleteTags offers tags that begin with what was typed.
func (a *App) CompleteTags(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.complete(cmd, func(ctx context.Context, store *localstore.Store, replica int64) ([]string, error) {
		tags, err := store.Tags(ctx, replica, typed, completions)
		var names []string
		for _, t := range tags {
			names = append(names, t.Name)
		}
		return names, err
	})
}

// CompleteTagList is [App.CompleteTags] for the last of a list of tags.
func (a *App) CompleteTagList(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	done, last := cutTags(typed)
	tags, directive := a.CompleteTags(cmd, args, last)
	for i := range tags {
		tags[i] = done + QuoteTag(tags[i])
	}
	return tags, directive
}

// CompleteWorkspaces offers the workspaces that this machine mirrors.
func (a *App) CompleteWorkspaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	// Not through the workspace in use, which may be gone: then one is chosen.
	store, err := a.Store(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := store.Replicas(cmd.Context())
	var names []string
	for i := range all {
		if all[i].Slug != "" {
			names = append(names, all[i].Slug+"\t"+output.Clean(all[i].Name))
		}
	}
	return offered(names, err)
}

// complete offers what can be read at once; what can't is not worth a message
// in the middle of typing.
func (a *App) complete(cmd *cobra.Command, list func(context.Context, *localstore.Store, int64) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	store, replica, err := a.Replica(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offered(list(cmd.Context(), store, replica.N))
}

// offered leaves out what can't be typed: what holds a control character.
func offered(offers []string, err error) ([]string, cobra.ShellCompDirective) {
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var clean []string
	for _, offer := range offers {
		if output.CleanText(offer) == offer {
			clean = append(clean, offer)
		}
	}
	return clean, cobra.ShellCompDirectiveNoFileComp
}
