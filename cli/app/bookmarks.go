package app

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

// PickBookmark finds the one live bookmark that ref means: an id, the
// beginning of one, or a URL.
func PickBookmark(ctx context.Context, store *localstore.Store, replica int64, ref string) (localstore.Bookmark, error) {
	found, err := store.FindBookmarks(ctx, replica, ref, 3)
	if api.CodeOf(err) == api.CodeNotFound {
		return localstore.Bookmark{}, Fail(NotFound, "There is no bookmark %q.", output.Clean(ref)).
			Try("bm search WORDS   finds it; bm ls --deleted shows what was deleted").Because(err)
	}
	if err != nil {
		return localstore.Bookmark{}, err
	}
	if len(found) > 1 {
		e := Fail(Usage, "%q means several bookmarks:", output.Clean(ref))
		for _, b := range found {
			e.Message += fmt.Sprintf("\n  %s  %s", b.ID, output.Clean(b.Title))
		}
		return localstore.Bookmark{}, e.Try("the same command with one of these ids")
	}
	return found[0], nil
}

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

// PickFolder finds the live folder that ref means: a path such as Dev/Go, an
// id, or the beginning of one. "/" is the top, an empty folder.
func PickFolder(ctx context.Context, store *localstore.Store, replica int64, ref string) (localstore.Folder, error) {
	if ref == "/" {
		return localstore.Folder{}, nil
	}
	f, err := store.FindFolder(ctx, replica, ref)
	if api.CodeOf(err) == api.CodeNotFound {
		return f, Fail(NotFound, "There is no folder %q.", output.Clean(ref)).
			Try("bm folder ls   lists them; bm folder add %q makes it", output.Clean(ref)).Because(err)
	}
	return f, err
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
		tree, err := store.Tree(ctx, replica)
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

// CompleteWorkspaces offers the workspaces that this machine mirrors.
func (a *App) CompleteWorkspaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(cmd, func(ctx context.Context, store *localstore.Store, _ int64) ([]string, error) {
		all, err := store.Replicas(ctx)
		var names []string
		for i := range all {
			if all[i].Slug != "" {
				names = append(names, all[i].Slug+"\t"+output.Clean(all[i].Name))
			}
		}
		return names, err
	})
}

// complete offers what can be read at once; what can't is not worth a message
// in the middle of typing.
func (a *App) complete(cmd *cobra.Command, list func(context.Context, *localstore.Store, int64) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	store, replica, err := a.Replica(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	offers, err := list(cmd.Context(), store, replica.N)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var clean []string
	for _, offer := range offers {
		// What holds a control character can't be typed anyway.
		if output.CleanText(offer) == offer {
			clean = append(clean, offer)
		}
	}
	return clean, cobra.ShellCompDirectiveNoFileComp
}
