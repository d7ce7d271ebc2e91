package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/output"
	"bm/daemon/control"
	"bm/localstore"
	"bm/server/api"
)

// finding is what one check found.
type finding struct {
	Check  string
	State  string // ok, note, trouble
	Detail string
	Next   string
}

// The states of a finding.
const (
	ok      = "ok"
	note    = "note"
	trouble = "trouble"
)

// New is the command.
func New(a *app.App) *cobra.Command {
	type field = output.Field[finding]
	format := &output.Format[finding]{Fields: []field{
		{Name: "check", Get: func(f finding) any { return f.Check }},
		{Name: "state", Get: func(f finding) any { return f.State }},
		{Name: "detail", Get: func(f finding) any { return f.Detail }},
		{Name: "next", Get: func(f finding) any { return f.Next }},
	}}
	repair := false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, and say what to do",
		Long: `Look at the folders, the settings, the local copy, the keyring, the server and the
daemon, and say of each what is wrong and what to do. Nothing is changed.

--repair mends a damaged local copy: a copy of the file is kept aside, what no
server has is saved from it, and the rest comes back with the next sync.`,
		Example: `  bm doctor
  bm doctor --repair
  bm doctor --json check,state --jq '.[] | select(.state == "trouble") | .check'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if repair {
				if err := mend(cmd.Context(), a); err != nil {
					return err
				}
			}
			return run(cmd.Context(), a, format)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "mend a damaged local copy")
	format.Bind(cmd)
	return cmd
}

// mend mends the local copy where it is damaged.
func mend(ctx context.Context, a *app.App) error {
	did, err := a.Repair(ctx)
	if err != nil {
		return err
	}
	if did.Aside == "" {
		fmt.Fprintln(a.IO.Err, "The local copy is sound.")
		return nil
	}
	fmt.Fprintf(a.IO.Err, "A copy of the damaged file is kept as %s. Saved from it: %s.\n", output.Clean(did.Aside), output.Plural(did.Rows, "unsent edit"))
	if did.Incomplete {
		fmt.Fprintln(a.IO.Err, "Some of it could not be read: there may have been more. Keep the file.")
	}
	a.Edited(ctx)
	return nil
}

func run(ctx context.Context, a *app.App, format *output.Format[finding]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	findings := examine(ctx, a)
	if err := ctx.Err(); err != nil {
		return err // what did not answer may be well
	}
	if wanted {
		err = format.List(a.IO.Out, a.IO, findings)
	} else {
		err = show(a.IO, findings)
	}
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.State == trouble {
			return &app.Error{Kind: app.Failed, Message: "There is trouble.", Quiet: true}
		}
	}
	return nil
}

func show(s *output.Streams, findings []finding) error {
	styles := map[string]output.Style{ok: output.Good, note: output.Warning, trouble: output.Bad}
	for _, f := range findings {
		if !s.OutTTY {
			if _, err := fmt.Fprintf(s.Out, "%s\t%s\t%s\t%s\n", f.Check, f.State, output.Clean(f.Detail), output.Clean(f.Next)); err != nil {
				return err
			}
			continue
		}
		line := fmt.Sprintf("%s  %-10s %s", s.Styled(styles[f.State], fmt.Sprintf("%-7s", f.State)), f.Check, output.Clean(f.Detail))
		if f.Next != "" {
			line += "\n         " + s.Styled(output.Faint, "try: ") + output.Clean(f.Next)
		}
		if _, err := fmt.Fprintln(s.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// examine runs every check that makes sense after those before it.
func examine(ctx context.Context, a *app.App) []finding {
	c, err := a.Config()
	if err != nil {
		return []finding{{"settings", trouble, said(err), cmp.Or(next(err), "mend or remove the file")}}
	}
	findings := []finding{{"settings", ok, c.Folders.File() + ", profile " + c.ProfileName(), ""}}
	findings = append(findings, environment(os.Environ())...)
	findings = append(findings, closed(c)...)
	findings = append(findings, folders(c)...)
	findings = append(findings, replica(ctx, a)...)
	findings = append(findings, keyring(a))
	findings = append(findings, server(ctx, a, c)...)
	return append(findings, daemon(ctx, a, c))
}

// environment tells of variables that nothing heeds, such as those with a typo.
func environment(environ []string) []finding {
	unheeded := config.Unheeded(environ)
	var findings []finding
	for _, name := range slices.Sorted(maps.Keys(unheeded)) {
		next := "bm man   lists the variables"
		if near := unheeded[name]; near != "" {
			next = near + "   if that was meant"
		}
		findings = append(findings, finding{"variables", note, name + " is set, and nothing heeds it", next})
	}
	return findings
}

// closed tells what others could read of what is the user's own. The settings
// were looked at when they were read.
func closed(c *config.Config) []finding {
	mended, exposed := c.Mended, c.Exposed
	for _, path := range []string{c.Folders.Data, c.Folders.ProfileData(c.ProfileName()), c.Folders.Replica(c.ProfileName()), filepath.Join(c.Folders.Config, "keys.json")} {
		did, err := config.CloseToOthers(path)
		if open, ok := errors.AsType[*config.Exposed](err); ok {
			exposed = append(exposed, open)
		}
		if did {
			mended = append(mended, path)
		}
	}
	var findings []finding
	for _, path := range mended {
		findings = append(findings, finding{"privacy", note, "others could read " + path + ": it is closed to them now", ""})
	}
	for _, open := range exposed {
		findings = append(findings, finding{"privacy", trouble, open.Error(), "make it yours: ls -ld " + open.Path})
	}
	return findings
}

// folders sees whether a file can be written where bm keeps its own.
func folders(c *config.Config) []finding {
	var findings []finding
	for _, f := range []struct{ name, dir string }{{"config", c.Folders.Config}, {"data", c.Folders.Data}, {"state", c.Folders.State}} {
		found := finding{f.name, ok, f.dir, ""}
		err := config.MakePrivate(f.dir)
		if _, exposed := errors.AsType[*config.Exposed](err); exposed {
			err = nil // that was told already
		}
		if err != nil {
			found.State, found.Detail, found.Next = trouble, f.dir+" can't be made: "+cause(err), "make it yours: ls -ld "+existing(f.dir)
		} else if err := writable(f.dir); err != nil {
			found.State, found.Detail, found.Next = trouble, f.dir+" can't be written to: "+cause(err), "df -h "+app.Typed(f.dir)+"; ls -ld "+app.Typed(f.dir)
		}
		findings = append(findings, found)
	}
	return findings
}

// cause is why something failed, without what was being done.
func cause(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// existing is a path, or what there is of it, as it is typed.
func existing(path string) string {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
			return app.Typed(path)
		}
		path = filepath.Dir(path)
	}
}

func writable(dir string) error {
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString("x")
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// replica opens the local copy and counts what is in it.
func replica(ctx context.Context, a *app.App) []finding {
	store, err := a.Store(ctx)
	if err != nil {
		next := remedy(err)
		if c, failed := a.Config(); failed == nil && next == "" {
			next = "make it yours: ls -l " + existing(c.Folders.Replica(c.ProfileName()))
		}
		return []finding{{"local copy", trouble, said(err), next}}
	}
	found := finding{"local copy", ok, fmt.Sprintf("%s, schema %d", store.Path(), store.SchemaVersion()), ""}
	if err := store.Check(ctx); err != nil {
		return []finding{{"local copy", trouble, said(err), remedy(err)}}
	}
	if reason := store.ReadOnlyReason(); reason != "" {
		found.State, found.Detail, found.Next = note, "it can only be read: "+reason, store.ReadOnlyRemedy()
	}
	findings := []finding{found}
	all, err := store.Replicas(ctx)
	if err != nil {
		return append(findings, finding{"workspaces", trouble, said(err), ""})
	}
	for i := range all {
		findings = append(findings, workspace(ctx, store, &all[i]))
	}
	return findings
}

// remedy is what helps against what is wrong with the local copy. A repair
// builds it anew, which is for a damaged one alone.
func remedy(err error) string {
	var denied *fs.PathError
	switch {
	case errors.Is(err, localstore.ErrDamaged):
		return "bm doctor --repair"
	case app.DiskFull(err):
		return "df -h, and free some space"
	case errors.As(err, &denied):
		return "ls -ld " + existing(denied.Path)
	}
	if barred, ok := errors.AsType[*localstore.ReadOnlyError](err); ok {
		return barred.Remedy
	}
	return next(err)
}

func workspace(ctx context.Context, store *localstore.Store, r *localstore.Replica) finding {
	f := finding{Check: "workspace", State: ok}
	counts, err := store.Counts(ctx, r.N)
	if err != nil {
		f.State, f.Detail = trouble, err.Error()
		return f
	}
	f.Detail = fmt.Sprintf("%s: %s, %s, %s not sent", r.Name, r.State, output.Plural(counts.Bookmarks, "bookmark"), output.Plural(counts.Unsent, "edit"))
	switch {
	case r.State == localstore.StateLocal:
		f.Detail = fmt.Sprintf("%s: %s, on this machine alone", r.Name, output.Plural(counts.Bookmarks, "bookmark"))
	case r.State == localstore.StateAuthRequired:
		f.State, f.Next = trouble, "bm auth login"
	case r.State == localstore.StateFrozen:
		f.State, f.Detail, f.Next = note, f.Detail+": "+r.Reason, "bm workspace rm "+r.Slug+"   removes the copy"
	case r.Reason != "": // offline, failing
		f.State, f.Next = note, "bm sync   tries it now"
		f.Detail += ": " + r.Reason
	case counts.Parked > 0:
		f.State, f.Next = note, "bm sync parked"
		f.Detail += fmt.Sprintf(", %d refused by the server", counts.Parked)
	case counts.Conflicts > 0:
		f.State, f.Next = note, "bm sync conflicts"
		f.Detail += ", " + output.Plural(counts.Conflicts, "conflict")
	}
	return f
}

func keyring(a *app.App) finding {
	if a.Getenv("BM_TOKEN") != "" {
		return finding{"keyring", ok, "BM_TOKEN goes before it", ""}
	}
	keys, err := a.Keys()
	if err != nil {
		return finding{"keyring", trouble, err.Error(), ""}
	}
	if err := keys.Probe(); err != nil {
		return finding{"keyring", note, credentials.Explain(err), credentials.Remedy(err) + "; or sign in with --insecure-storage, or set BM_TOKEN"}
	}
	return finding{"keyring", ok, "it answers", ""}
}

func server(ctx context.Context, a *app.App, c *config.Config) []finding {
	account, err := a.SignedIn()
	if err != nil {
		if account.Server != "" {
			return []finding{{"server", note, err.Error(), next(err)}}
		}
		return []finding{{"server", note, "none: what you keep stays on this machine", "bm auth login, or bm up"}}
	}
	caller, err := a.Caller(account.Server, "", c.Is(config.InsecureHTTP))
	if err != nil {
		return []finding{{"server", note, err.Error(), ""}}
	}
	began := a.Now()
	info, err := caller.Info(ctx)
	if err != nil {
		remedy := "is the address right, and the network up? " + account.Server
		if strings.HasSuffix(account.Email, app.UpDomain) {
			remedy = "bm up   in another terminal serves it"
		}
		return []finding{{"server", trouble, said(err), remedy}}
	}
	took := a.Now().Sub(began).Round(time.Millisecond)
	detail := fmt.Sprintf("%s answers in %s: %s %s", account.Server, took, info.Name, info.Version)
	if len(info.Extensions) == 0 {
		detail = fmt.Sprintf("%s answers in %s, without bm's extensions", account.Server, took)
	}
	findings := []finding{{"server", ok, detail, ""}}
	signed, err := a.Client(ctx)
	if err == nil {
		var me api.AccountProfile
		if me, err = signed.Me(ctx); err == nil {
			return append(findings, finding{"account", ok, me.Email + " of " + me.OrganizationName, ""})
		}
	}
	err = a.Refused(err)
	return append(findings, finding{"account", trouble, err.Error(), cmp.Or(next(err), "bm auth login")})
}

// said is what went wrong, in words.
func said(err error) string {
	if e, ok := errors.AsType[*app.Error](err); ok {
		return e.Message
	}
	if app.DiskFull(err) {
		return "the disk is full"
	}
	return app.Plain(err)
}

// next is what an error says to type next.
func next(err error) string {
	if e, ok := errors.AsType[*app.Error](err); ok {
		return e.Next
	}
	return ""
}

func daemon(ctx context.Context, a *app.App, c *config.Config) finding {
	d, err := a.Daemon()
	if err != nil {
		return finding{"daemon", trouble, err.Error(), ""}
	}
	reply, err := d.Ask(ctx, control.Request{Command: control.Status})
	switch {
	case errors.Is(err, control.ErrNotRunning):
		return finding{"daemon", note, "it does not run", "bm daemon start, or bm daemon install"}
	case err != nil:
		return finding{"daemon", trouble, said(err), "bm daemon restart"}
	}
	f := finding{"daemon", ok, fmt.Sprintf("version %s, process %d, log %s", reply.Version, reply.PID, filepath.Join(c.Folders.Logs(), "daemon.log")), ""}
	if reply.Version != a.Version {
		f.State, f.Next = note, "bm daemon restart"
		f.Detail += ", and this is " + a.Version
	}
	for _, p := range reply.Status.Profiles {
		if p.Name == c.ProfileName() && p.Trouble != "" && c.Account().SignedIn() {
			f.State, f.Detail, f.Next = trouble, p.Trouble, "bm daemon logs"
		}
	}
	return f
}
