package auth

import (
	"context"
	"fmt"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/localstore"
)

// goes reports whether a replica is removed by --forget: what is on this
// machine alone stays in the default profile, which can't be removed.
func goes(c *config.Config, r *localstore.Replica) bool {
	return r.RemoteID != "" || c.ProfileName() != config.DefaultProfile
}

// mayForget refuses to lose edits, before anything is undone, and asks.
func (o *logoutOptions) mayForget(ctx context.Context) error {
	a := o.app
	c, err := a.Config()
	if err != nil {
		return err
	}
	bookmarks, err := o.losesNothing(ctx)
	if err != nil {
		return err
	}
	what := output.Plural(bookmarks, "bookmark")
	if c.ProfileName() != config.DefaultProfile {
		what = fmt.Sprintf("the profile %s with %s", c.ProfileName(), what)
	}
	question := "Remove " + what + " from this machine?"
	if c.Account().SignedIn() {
		question = "Sign out, and remove " + what + " from this machine?"
	}
	return a.Confirm(o.yes || o.force, question)
}

// losesNothing refuses to lose edits, and counts the bookmarks that go. It is called
// again behind whatever takes its time, a person or a server: another command may have
// edited meanwhile.
func (o *logoutOptions) losesNothing(ctx context.Context) (bookmarks int, err error) {
	a := o.app
	c, err := a.Config()
	if err != nil {
		return 0, err
	}
	store, err := a.Store(ctx)
	if err != nil {
		return 0, err
	}
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return 0, err
	}
	for i := range replicas {
		r := &replicas[i]
		if !goes(c, r) {
			continue
		}
		n, err := store.Pending(ctx, r.N)
		if err != nil {
			return 0, err
		}
		if n > 0 && !o.force {
			return 0, refusal(c, r, n)
		}
		counts, err := store.Counts(ctx, r.N)
		if err != nil {
			return 0, err
		}
		if counts.Conflicts > 0 && !o.force {
			return 0, app.Fail(app.Brake, "%q holds %s, with values of yours that stand nowhere else.", output.Clean(r.Name), output.Plural(counts.Conflicts, "undecided conflict")).
				Try("bm sync conflicts; or --force loses them")
		}
		bookmarks += counts.Bookmarks
	}
	return bookmarks, nil
}

// refusal says what would be lost, and how to keep it.
func refusal(c *config.Config, r *localstore.Replica, n int) error {
	export := "bm export FILE"
	if c.ProfileName() != config.DefaultProfile {
		export = "bm export --profile " + c.ProfileName() + " FILE"
	}
	if r.RemoteID == "" {
		return app.Fail(app.Brake, "%q holds %s that no server has.", output.Clean(r.Name), output.Plural(n, "row")).
			Try("%s   keeps them; or --force loses them", export)
	}
	e := app.Fail(app.Brake, "The server lacks %s of %q.", output.Plural(n, "edit"), output.Clean(r.Name))
	if c.Account().SignedIn() {
		return e.Try("bm sync; or %s; or --force loses them", export)
	}
	return e.Try("%s   keeps them; or --force loses them", export)
}

// forgetAll removes what was mirrored, and a profile that was named with all
// that belongs to it. The daemon is quiet meanwhile.
func (o *logoutOptions) forgetAll(ctx context.Context) error {
	a := o.app
	c, err := a.Config()
	if err != nil {
		return err
	}
	if _, err := o.losesNothing(ctx); err != nil {
		return err
	}
	if c.ProfileName() != config.DefaultProfile {
		if err := a.Close(); err != nil {
			return err
		}
		if err := c.Remove(); err != nil {
			return err
		}
		fmt.Fprintf(a.IO.Err, "Removed the profile %s from this machine.\n", c.ProfileName())
		return nil
	}
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return err
	}
	for i := range replicas {
		if !goes(c, &replicas[i]) {
			continue
		}
		if err := store.Forget(ctx, replicas[i].N, o.force); err != nil {
			return err
		}
	}
	if err := c.Save(config.Account{Server: c.Account().Server}, config.Chosen{}); err != nil {
		return err
	}
	fmt.Fprintln(a.IO.Err, "Removed what was mirrored from this machine.")
	return nil
}
