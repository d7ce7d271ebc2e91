package syncing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/mirror"
	"bm/cli/output"
	"bm/daemon"
	"bm/daemon/control"
	"bm/localstore"
	"bm/server/api"
)

type syncOptions struct {
	app  *app.App
	now  bool
	wait bool
}

// New is the command.
func New(a *app.App) *cobra.Command {
	o := &syncOptions{app: a}
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Bring this machine and the server in step now",
		Long: `Bring this machine and the server in step now, and wait for it. Where the daemon
runs it does the work, with the key that is kept, else this command does.`,
		Example: `  bm sync
  bm sync --now                  # ask the daemon for it, and don't wait
  bm sync --wait                 # until the server has everything`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSync(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.now, "now", false, "don't wait for it")
	flags.BoolVar(&o.wait, "wait", false, "wait until the server has everything")
	cmd.MarkFlagsMutuallyExclusive("now", "wait")
	cmd.AddCommand(newStatus(a), newConflicts(a), newResolve(a), newParked(a))
	return cmd
}

// Await waits until the server has what was edited.
func Await(ctx context.Context, a *app.App) error {
	return runSync(ctx, &syncOptions{app: a, wait: true})
}

func runSync(ctx context.Context, o *syncOptions) error {
	a := o.app
	if _, err := a.SignedIn(); err != nil {
		return err
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	if c.Is(config.Offline) {
		return a.ToldOffline(c, "bm")
	}
	d, err := a.Daemon()
	if err != nil {
		return err
	}
	if o.now {
		if own := c.Account(); own.Borrowed || !own.SignedIn() {
			return app.Fail(app.Usage, "The daemon does not know BM_TOKEN, which is this command's alone.").Try("bm sync   does it, and waits")
		}
		_, err := d.Ask(ctx, control.Request{Command: control.Nudge, Profile: c.ProfileName()})
		if errors.Is(err, control.ErrNotRunning) {
			return a.StartDaemon(c.Folders)
		}
		if said := (*control.Failure)(nil); errors.As(err, &said) {
			return o.afterDaemon(ctx, said)
		}
		return err
	}
	for w := (waiting{}); ; {
		err := watched(ctx, a, func() error { return o.round(ctx, d, c.ProfileName()) })
		if err != nil {
			return err
		}
		left, err := unsent(ctx, a)
		if err != nil {
			return err
		}
		if !o.wait || w.over(left) {
			return o.report(ctx, left)
		}
	}
}

// waiting is how --wait gets on.
type waiting struct{ rounds, left, same int }

// maxRounds bounds --wait where edits arrive as fast as they are sent, and
// maxSame where what is left can't be sent, since it is in a folder that the
// server refused say: a round ends when it gets no further.
const (
	maxRounds = 100
	maxSame   = 3
)

// over reports whether another round is of no use, by what is left after one.
func (w *waiting) over(left int) bool {
	w.rounds++
	if w.rounds > 1 && left == w.left {
		w.same++
	} else {
		w.left, w.same = left, 0
	}
	return left == 0 || w.same == maxSame || w.rounds == maxRounds
}

// round runs one round, by the daemon where there is one.
func (o *syncOptions) round(ctx context.Context, d *control.Client, profile string) error {
	token := o.app.Getenv("BM_TOKEN") != ""
	if token { // which the daemon knows nothing of
		if err := o.byItself(ctx); !errors.Is(err, mirror.ErrBusy) {
			return err
		}
	}
	_, err := d.Ask(ctx, control.Request{Command: control.Sync, Profile: profile})
	if !errors.Is(err, control.ErrNotRunning) {
		if token && err == nil {
			o.app.Warn(errors.New("the daemon did it, with the key that is kept: it knows nothing of BM_TOKEN"))
		}
		if said := (*control.Failure)(nil); errors.As(err, &said) {
			return o.afterDaemon(ctx, said)
		}
		if err != nil && ctx.Err() != nil { // all else that is wrong is that nobody listens any more
			return app.Fail(app.Interrupted, "Interrupted. The daemon goes on with it.").Try("bm sync status   shows how it stands").Because(err)
		}
		return err
	}
	return o.byItself(ctx)
}

// byItself runs one round in this process.
func (o *syncOptions) byItself(ctx context.Context) error {
	p, err := mirror.Open(ctx, o.app)
	if errors.Is(err, mirror.ErrBusy) {
		return app.Fail(app.Conflict, "Another bm syncs this profile right now.").Try("bm sync status").Because(err)
	}
	if err != nil {
		return err
	}
	return cutOff(o.app.Refused(errors.Join(syncAll(ctx, p, o.app.Warn), p.Release())))
}

// cutOff is what is told of an error where a round was interrupted or had no room for
// more, and else the error: what it brought before that stays.
func cutOff(err error) error {
	if errors.Is(err, context.Canceled) {
		return app.Fail(app.Interrupted, "Interrupted. What was brought in step so far stays.").Try("bm sync   goes on").Because(err)
	}
	return withoutRoom(err)
}

// withoutRoom is what is told of an error where the disk is full, and else the
// error: a round keeps what it brought before it had no room for more.
func withoutRoom(err error) error {
	if err == nil || !app.DiskFull(err) {
		return err
	}
	return app.Fail(app.Failed, "The disk is full. What was brought in step so far stays, and nothing is lost.").
		Try("df -h, free some space, and bm sync goes on").Because(err)
}

// afterDaemon gives what the daemon said its kind, by how the workspaces stand:
// its message crossed the socket as words alone.
func (o *syncOptions) afterDaemon(ctx context.Context, said *control.Failure) error {
	store, err := o.app.Store(ctx)
	if err != nil {
		return err
	}
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return err
	}
	if paused, _ := attended(ctx, o.app, ""); paused {
		return app.Fail(app.Failed, "The daemon is paused.").Try("bm daemon resume").Because(said)
	}
	message := withoutFrozen(said.Message, replicas)
	if message == "" {
		return nil
	}
	if app.DiskFull(said) {
		return withoutRoom(said)
	}
	told := app.Fail(app.Failed, "%s", daemonSays(message)).Because(said)
	for _, r := range replicas {
		switch r.State {
		case localstore.StateAuthRequired:
			return o.app.KeyRefused(said)
		case localstore.StateOffline:
			told.Kind, told.Next = app.Offline, "bm doctor"
			return told
		}
	}
	return told
}

// withoutFrozen leaves out what the daemon says of workspaces that were taken
// away, a line each.
func withoutFrozen(message string, replicas []localstore.Replica) string {
	var kept []string
	for line := range strings.Lines(message) {
		about := func(r localstore.Replica) bool {
			return r.State == localstore.StateFrozen && strings.Contains(line, fmt.Sprintf("sync %q: ", r.Name)) && strings.Contains(line, r.Reason)
		}
		if !slices.ContainsFunc(replicas, about) {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return strings.Join(kept, "\n")
}

// daemonSays is what the daemon said, without the profile that it is about: the
// command is about the same.
func daemonSays(text string) string {
	text = output.CleanText(text)
	if rest, found := strings.CutPrefix(text, "profile "); found {
		if _, after, found := strings.Cut(rest, ": "); found {
			text = after
		}
	}
	return output.Sentence(text)
}

// attended asks the daemon whether it was told to do nothing, and whether it keeps the
// profile in step.
func attended(ctx context.Context, a *app.App, profile string) (paused, kept bool) {
	d, err := a.Daemon()
	if err != nil {
		return false, false
	}
	reply, err := d.Ask(ctx, control.Request{Command: control.Status})
	if err != nil || reply.Status == nil {
		return false, false
	}
	return reply.Status.Paused, slices.ContainsFunc(reply.Status.Profiles, func(p control.ProfileInfo) bool { return p.Name == profile })
}

// syncAll runs a round of every workspace. What fails for one does not stop the
// others. A defect that was found and mended is warned of.
func syncAll(ctx context.Context, m daemon.Mirror, warn func(error)) error {
	ids, err := m.Refresh(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		result, err := m.Round(ctx, id)
		if err != nil && !lost(err) {
			errs = append(errs, err)
		}
		if result.Note != "" {
			warn(errors.New(result.Note))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// lost reports whether a round failed because the workspace was taken away:
// its copy is frozen then, which is told at the end.
func lost(err error) bool {
	switch api.CodeOf(err) {
	case api.CodeGone, api.CodeNotFound, api.CodeForbidden:
		return true
	}
	return false
}

func unsent(ctx context.Context, a *app.App) (int, error) {
	store, err := a.Store(ctx)
	if err != nil {
		return 0, err
	}
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return 0, err
	}
	left := 0
	for _, r := range replicas {
		if r.State == localstore.StateFrozen {
			continue // nothing of it can be sent
		}
		counts, err := store.Counts(ctx, r.N)
		if err != nil {
			return 0, err
		}
		left += max(0, counts.Unsent-counts.Parked)
	}
	return left, nil
}

// report says how the workspaces stand now.
func (o *syncOptions) report(ctx context.Context, left int) error {
	store, err := o.app.Store(ctx)
	if err != nil {
		return err
	}
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return err
	}
	conflicts, parked := 0, 0
	var names []string
	var frozen error
	for _, r := range replicas {
		if r.RemoteID == "" {
			continue
		}
		counts, err := store.Counts(ctx, r.N)
		if err != nil {
			return err
		}
		if r.State == localstore.StateFrozen {
			fmt.Fprintf(o.app.IO.Err, "%s can only be read here: %s. bm export --workspace %[3]s FILE keeps what is in it, bm workspace rm %[3]s removes the copy.\n",
				output.Clean(r.Name), output.Clean(r.Reason), output.Clean(r.Slug))
			if counts.Conflicts > 0 {
				fmt.Fprintf(o.app.IO.Err, "%s holds %s: bm sync conflicts --workspace %s\n", output.Clean(r.Name), output.Plural(counts.Conflicts, "undecided conflict"), output.Clean(r.Slug))
			}
			if counts.Unsent > 0 {
				frozen = app.Fail(app.Partly, "%s of %q can't be sent any more.", output.Plural(counts.Unsent, "edit"), output.Clean(r.Name)).
					Try("bm export --workspace %s FILE   keeps them", output.Clean(r.Slug))
			}
			continue
		}
		conflicts += counts.Conflicts
		parked += counts.Parked
		names = append(names, fmt.Sprintf("%s (%s)", output.Clean(r.Name), output.Plural(counts.Bookmarks, "bookmark")))
	}
	if len(names) > 0 {
		fmt.Fprintf(o.app.IO.Err, "In step: %s.\n", strings.Join(names, ", "))
	}
	if conflicts > 0 {
		fmt.Fprintf(o.app.IO.Err, "%s to decide: bm sync conflicts\n", output.Plural(conflicts, "conflict"))
	}
	if parked > 0 {
		return app.Fail(app.Partly, "The server refused %s.", output.Plural(parked, "edit")).Try("bm sync parked")
	}
	if left > 0 {
		return app.Fail(app.Partly, "%s not sent yet.", output.Plural(left, "edit")).Try("bm sync --wait")
	}
	return frozen
}
