package bookmark

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

// Commands are the commands of this package.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		newAdd(a), newGet(a), newList(a), newSearch(a), newOpen(a), newEdit(a), newMove(a), newRemove(a), newRestore(a),
		newRandom(a), newDupes(a),
	}
}

// view shows bookmarks, with the paths of their folders where these are asked
// for.
type view struct {
	app    *app.App
	format output.Format[localstore.Bookmark]
	store  *localstore.Store
	ctx    context.Context
	paths  map[string]string
	ahead  []localstore.Bookmark // are shown next
	marks  *highlight            // of a search
	groups map[string]int        // by id, where they are shown in groups
	failed error
}

func newView(a *app.App) *view {
	v := &view{app: a, paths: map[string]string{}}
	type field = output.Field[localstore.Bookmark]
	get := func(name string, f func(b *localstore.Bookmark) any) field {
		return field{Name: name, Get: func(b localstore.Bookmark) any { return f(&b) }}
	}
	v.format.Fields = []field{
		get("id", func(b *localstore.Bookmark) any { return b.ID }),
		get("url", func(b *localstore.Bookmark) any { return b.URL }),
		get("title", func(b *localstore.Bookmark) any { return b.Title }),
		get("description", func(b *localstore.Bookmark) any { return b.Description }),
		get("tags", func(b *localstore.Bookmark) any { return tagsOf(b) }),
		get("folder", func(b *localstore.Bookmark) any { return v.path(b) }),
		get("folderId", func(b *localstore.Bookmark) any { return b.FolderID }),
		get("sortOrder", func(b *localstore.Bookmark) any { return b.SortOrder }),
		get("createdAt", func(b *localstore.Bookmark) any { return b.CreatedAt }),
		get("updatedAt", func(b *localstore.Bookmark) any { return b.UpdatedAt }),
		get("linkStatus", func(b *localstore.Bookmark) any { return b.LinkStatus }),
		get("readerExcerpt", func(b *localstore.Bookmark) any { return b.ReaderExcerpt }),
		get("workspaceId", func(b *localstore.Bookmark) any { return b.WorkspaceID }),
		get("extra", func(b *localstore.Bookmark) any { return b.Extra }),
		get("unsent", func(b *localstore.Bookmark) any { return b.Unsent }),
		get("deleted", func(b *localstore.Bookmark) any { return !b.DeletedAt.IsZero() }),
	}
	return v
}

func tagsOf(b *localstore.Bookmark) []string {
	if b.Tags == nil {
		return []string{}
	}
	return b.Tags
}

// on says where the shown bookmarks are from.
func (v *view) on(ctx context.Context, store *localstore.Store) *view {
	v.ctx, v.store = ctx, store
	return v
}

// path is the path of the folder that a bookmark is in. Those of the rows that are
// shown with it are asked for along with it.
func (v *view) path(b *localstore.Bookmark) string {
	if b.FolderID == "" {
		return ""
	}
	if path, known := v.paths[b.FolderID]; known {
		return path
	}
	unknown := []string{b.FolderID}
	for i := range v.ahead {
		if id := v.ahead[i].FolderID; id != "" && v.ahead[i].Replica == b.Replica {
			unknown = append(unknown, id)
		}
	}
	slices.Sort(unknown)
	unknown = slices.Compact(unknown)
	paths, err := v.store.FolderPaths(v.ctx, b.Replica, unknown)
	if err != nil && v.failed == nil {
		v.failed = err
	}
	for _, id := range unknown {
		v.paths[id] = paths[id]
	}
	return v.paths[b.FolderID]
}

// together is how many rows are gathered before the first of them is shown.
const together = 100

// gathered hands on the rows of a list so many at a time.
func (v *view) gathered(rows each) each {
	return func(yield func(localstore.Bookmark) error) error {
		var held []localstore.Bookmark
		flush := func() error {
			v.ahead = held
			for i := range held {
				if err := yield(held[i]); err != nil {
					return err
				}
			}
			held = held[:0]
			return nil
		}
		err := rows(func(b localstore.Bookmark) error {
			if held = append(held, b); len(held) < together {
				return nil
			}
			return flush()
		})
		if shown := flush(); err == nil { // what was read before it failed
			err = shown
		}
		return err
	}
}

// each hands every bookmark of a list to yield.
type each func(yield func(localstore.Bookmark) error) error

func of(list []localstore.Bookmark) each {
	return func(yield func(localstore.Bookmark) error) error {
		for i := range list {
			if err := yield(list[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// list shows bookmarks, a line each.
func (v *view) list(rows each) error {
	wanted, err := v.format.Wanted()
	if err != nil {
		return err
	}
	s := v.app.IO
	rows = v.gathered(rows)
	err = s.Page(v.ctx, func(w io.Writer) error {
		if wanted {
			return v.format.All(w, s, rows)
		}
		headings := []output.Heading{
			{Name: "id", Spare: 2},
			{Name: "title", Flexible: true, Least: 26},
			{Name: "url", Flexible: true, Least: 22, Spare: 1},
			{Name: "tags", Flexible: true, Spare: 3},
			{Name: "folder", Flexible: true, Spare: 4},
			{Name: "added", Spare: 5},
		}
		if v.groups != nil {
			headings = append([]output.Heading{{Name: "group", Right: true}}, headings...)
		}
		table := s.NewTable(w, headings...)
		err := rows(func(b localstore.Bookmark) error {
			title, url := titleCell(&b), output.Cell{Value: b.URL, Short: shortURL(b.URL), Style: output.Link}
			tags := output.Styled(output.Label, joined(b.Tags))
			v.marks.apply(&b, &title, &url, &tags)
			cells := []output.Cell{
				{Value: b.ID, Shown: app.ShortID(b.ID), Style: output.Faint},
				title, url, tags,
				output.Text(v.path(&b)),
				{Value: b.CreatedAt.String(), Shown: output.Ago(v.app.Now(), b.CreatedAt.Time), Style: output.Faint},
			}
			if v.groups != nil {
				cells = append([]output.Cell{output.Text(strconv.Itoa(v.groups[b.ID]))}, cells...)
			}
			err := table.Row(cells...)
			if err != nil || !s.OutTTY {
				return err
			}
			return table.Below(v.marks.below(&b))
		})
		if err != nil {
			return err
		}
		return table.End()
	})
	if err != nil {
		return err
	}
	return v.failed
}

// titleCell is the title, and where nothing else is shown the URL in its place.
func titleCell(b *localstore.Bookmark) output.Cell {
	cell := output.Cell{Value: b.Title, Alone: b.URL, Style: output.Strong}
	if b.Title == "" {
		cell.Short = shortURL(b.URL)
	}
	return cell
}

// shortURL is a URL without what most begin with, as bm get takes it, too.
func shortURL(url string) string {
	rest, found := strings.CutPrefix(url, "https://")
	if !found {
		return ""
	}
	return rest
}

// joined are tags as --tag takes them.
func joined(tags []string) string { list := app.TagList(tags); return list.String() }

// one shows a single bookmark with all that is known of it.
func (v *view) one(b localstore.Bookmark) error {
	wanted, err := v.format.Wanted()
	if err != nil {
		return err
	}
	s := v.app.IO
	if wanted {
		if err := v.format.One(s.Out, s, b); err != nil {
			return err
		}
		return v.failed
	}
	now := v.app.Now()
	state := ""
	if b.Unsent && !v.app.Awaits() { // the command goes on to send it
		state = "not sent yet"
	}
	if !b.DeletedAt.IsZero() {
		state = "deleted " + output.Ago(now, b.DeletedAt.Time)
	}
	link := string(b.LinkStatus)
	if b.LinkStatus == api.LinkUnknown && s.OutTTY {
		link = "" // as it is with every bookmark until somebody has it checked
	}
	err = s.Details(s.Out,
		output.Detail{Name: "title", Value: b.Title, Style: output.Strong},
		output.Detail{Name: "url", Value: b.URL, Style: output.Link},
		output.Detail{Name: "tags", Value: joined(b.Tags), Shown: strings.Join(b.Tags, ", "), Style: output.Label},
		output.Detail{Name: "folder", Value: v.path(&b)},
		output.Detail{Name: "description", Value: b.Description},
		output.Detail{Name: "added", Value: b.CreatedAt.String(), Shown: output.Ago(now, b.CreatedAt.Time)},
		output.Detail{Name: "changed", Value: b.UpdatedAt.String(), Shown: output.Ago(now, b.UpdatedAt.Time)},
		output.Detail{Name: "link", Value: link},
		output.Detail{Name: "state", Value: state, Style: output.Warning},
		output.Detail{Name: "id", Value: b.ID, Style: output.Faint},
	)
	if err != nil {
		return err
	}
	return v.failed
}

// words is the command as the user typed it, for the log.
func words(name string, args ...string) string {
	text := strings.Join(append([]string{name}, args...), " ")
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:199]) + "…"
	}
	return text
}
