package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	return []*cobra.Command{newUndo(a), newRedo(a), newLog(a)}
}

func newUndo(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "undo",
		Short: "Take back the last command",
		Long: `Take back the last command that changed something on this machine, also after
it was sent. What has changed again since, here or elsewhere, is left alone.`,
		Example: "  bm undo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), a, turn{"Taking back", "Took back", "nothing to take back", (*localstore.Store).Undo})
		},
	}
}

func newRedo(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "redo",
		Short:   "Do again what the last undo took back",
		Example: "  bm redo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), a, turn{"Doing again", "Did again", "nothing to do again", (*localstore.Store).Redo})
		},
	}
}

// turn is an undo or a redo, and how it is spoken of.
type turn struct {
	doing, did, nothing string
	do                  func(*localstore.Store, context.Context, func(done, total int)) (localstore.Undone, error)
}

func run(ctx context.Context, a *app.App, t turn) error {
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	bar := a.IO.Begin(t.doing, "changes", 0)
	var undone localstore.Undone
	err = a.InTurn(ctx, func(begun func()) (err error) {
		undone, err = t.do(store, ctx, func(done, total int) {
			begun()
			bar.Total(total)
			bar.Set(done)
		})
		return err
	})
	bar.End()
	if api.CodeOf(err) == api.CodeNotFound {
		return app.Fail(app.NotFound, "There is %s.", t.nothing).Try("bm log   shows what was done").Because(err)
	}
	if undone.Rows > 0 {
		a.Edited(ctx) // what was cut off, too: it is done in steps
	}
	switch {
	case errors.Is(err, context.Canceled) && undone.Rows > 0:
		return app.Fail(app.Interrupted, "Interrupted. %s so far: %s (%s).", t.did, output.Clean(undone.Command), output.Plural(undone.Rows, "change")).
			Try("the same command again goes on").Because(err)
	case errors.Is(err, context.Canceled):
		return app.Unchanged(err)
	case err != nil && undone.Rows > 0:
		return app.Half(fmt.Sprintf("%s so far: %s (%s)", t.did, output.Clean(undone.Command), output.Plural(undone.Rows, "change")), err).
			Try("the same command again goes on, once that is mended")
	case err != nil:
		return err
	}
	if undone.Rows > 0 {
		fmt.Fprintf(a.IO.Err, "%s: %s (%s)\n", t.did, output.Clean(undone.Command), output.Plural(undone.Rows, "change"))
	} else {
		fmt.Fprintf(a.IO.Err, "%s nothing of: %s\n", t.did, output.Clean(undone.Command))
	}
	if len(undone.Skipped) == 0 {
		return nil
	}
	failure := app.Fail(app.Partly, "What had changed again since was left alone:")
	for _, skipped := range undone.Skipped[:min(len(undone.Skipped), maxSkipped)] {
		id, field, _ := strings.Cut(skipped, ".")
		failure.Message += "\n  " + id + "  " + output.Clean(nameOf(ctx, store, undone.Replica, id))
		if field != "" {
			failure.Message += ": " + field
		}
	}
	if more := len(undone.Skipped) - maxSkipped; more > 0 {
		failure.Message += "\n  and " + strconv.Itoa(more) + " more"
	}
	return failure
}

// maxSkipped is how much of what was left alone is named.
const maxSkipped = 10

// nameOf is what a person knows a row by; "" where it is gone.
func nameOf(ctx context.Context, store *localstore.Store, replica int64, id string) string {
	if b, err := store.Bookmark(ctx, replica, id); err == nil {
		return cmp.Or(b.Title, b.URL)
	}
	if f, err := store.Folder(ctx, replica, id); err == nil {
		return f.Name
	}
	return ""
}

func newLog(a *app.App) *cobra.Command {
	type field = output.Field[localstore.Command]
	format := &output.Format[localstore.Command]{Fields: []field{
		{Name: "n", Get: func(c localstore.Command) any { return c.N }},
		{Name: "command", Get: func(c localstore.Command) any { return c.Command }},
		{Name: "at", Get: func(c localstore.Command) any { return c.At }},
		{Name: "undone", Get: func(c localstore.Command) any { return c.Undone }},
		{Name: "created", Get: func(c localstore.Command) any { return c.Created }},
		{Name: "updated", Get: func(c localstore.Command) any { return c.Updated }},
		{Name: "deleted", Get: func(c localstore.Command) any { return c.Deleted }},
		{Name: "restored", Get: func(c localstore.Command) any { return c.Restored }},
	}}
	limit := 20
	cmd := &cobra.Command{
		Use:     "log",
		Short:   "Show what was done on this machine",
		Example: "  bm log\n  bm log --limit 100 --json at,command",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runLog(cmd.Context(), a, format, limit) },
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "so `many`")
	format.Bind(cmd)
	return cmd
}

func runLog(ctx context.Context, a *app.App, format *output.Format[localstore.Command], limit int) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	if limit < 1 {
		return app.Fail(app.Usage, "--limit %d: a number from 1 is wanted.", limit)
	}
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	list, err := store.Log(ctx, limit)
	if err != nil {
		return err
	}
	if len(list) == 0 && !wanted {
		a.SayNone(nil, "Nothing was done on this machine yet.")
	}
	return a.IO.Page(ctx, func(w io.Writer) error {
		if wanted {
			return format.List(w, a.IO, list)
		}
		table := a.IO.NewTable(w, output.Heading{Name: "when", Spare: 2}, output.Heading{Name: "command", Flexible: true, Least: 20},
			output.Heading{Name: "changes", Spare: 3}, output.Heading{Name: "state", Spare: 1})
		for _, c := range list {
			state := ""
			if c.Undone {
				state = "undone"
			}
			err := table.Row(
				output.Cell{Value: c.At.String(), Shown: output.Ago(a.Now(), c.At.Time), Style: output.Faint},
				output.Text(c.Command), output.Text(changes(c)), output.Styled(output.Warning, state))
			if err != nil {
				return err
			}
		}
		return table.End()
	})
}

func changes(c localstore.Command) string {
	var parts []string
	for _, part := range []struct {
		n    int
		sign string
	}{{c.Created, "+"}, {c.Updated, "~"}, {c.Deleted, "-"}, {c.Restored, "^"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprint(part.sign, part.n))
		}
	}
	return strings.Join(parts, " ")
}
