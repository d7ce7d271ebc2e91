package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/daemon/control"
	"bm/daemon/unit"
	"bm/server/api"
	"bm/server/api/client"
)

func keyring(a *app.App, c *config.Config) finding {
	if a.Getenv("BM_TOKEN") != "" {
		return finding{"keyring", ok, "BM_TOKEN goes before it", ""}
	}
	keys, err := a.Keys()
	if err != nil {
		return finding{"keyring", trouble, err.Error(), ""}
	}
	missing := keys.Probe()
	if missing == nil {
		return finding{"keyring", ok, "it answers", ""}
	}
	if _, source, err := keys.Kept(credentials.Name(c.ProfileName(), c.Account().TenantID)); err == nil && source == credentials.FromFile {
		return finding{"keyring", note, credentials.Explain(missing) + ": the key is in " + keys.File() + ", which only you can read", ""}
	}
	return finding{"keyring", note, credentials.Explain(missing), credentials.Remedy(missing) + "; or sign in with --insecure-storage, or set BM_TOKEN"}
}

// server sees whether the profile's server answers, and takes its key. Who is not
// signed in wants to know of the first, too.
func server(ctx context.Context, a *app.App, c *config.Config) []finding {
	account, out := a.SignedIn()
	if account.Server == "" {
		return []finding{{"server", note, "none: what you keep stays on this machine", "bm auth login, or bm up"}}
	}
	answer, answers := reach(ctx, a, c, account)
	findings := []finding{answer}
	switch {
	case !answers:
		return findings
	case out != nil:
		return append(findings, finding{"account", note, said(out), next(out)})
	}
	signed, err := a.Client(ctx)
	if err == nil {
		var me api.AccountProfile
		if me, err = signed.Me(ctx); err == nil {
			return append(findings, finding{"account", ok, me.Email + " of " + me.OrganizationName, ""})
		}
	}
	err = a.Refused(err) // which says what to do, and nothing else is about who is signed in
	return append(findings, finding{"account", trouble, said(err), next(err)})
}

// patience is how long a server may take to answer who looks into what is wrong.
const patience = 10 * time.Second

// reach sees whether a server answers.
func reach(ctx context.Context, a *app.App, c *config.Config, account config.Account) (found finding, answers bool) {
	caller, err := a.Caller(account.Server, "", c.Is(config.InsecureHTTP))
	if err != nil {
		return finding{"server", note, said(err), next(err)}, false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := a.Now()
	info, err := caller.Info(ctx)
	if err != nil {
		remedy := "is the address right, and the network up? " + account.Server
		switch {
		case strings.HasSuffix(account.Email, app.UpDomain):
			remedy = "bm up   in another terminal serves it"
		case client.IsLocal(account.Server):
			remedy = "bm serve   in another terminal, where that is this machine's own server"
		}
		return finding{"server", trouble, said(err), remedy}, false
	}
	took := a.Now().Sub(began).Round(time.Millisecond)
	if len(info.Extensions) == 0 {
		return finding{"server", ok, fmt.Sprintf("%s answers in %s, without bm's extensions", account.Server, took), ""}, true
	}
	return finding{"server", ok, fmt.Sprintf("%s answers in %s: %s %s", account.Server, took, info.Name, info.Version), ""}, true
}

// daemon sees whether the daemon runs, and how it fares: what was told already,
// such as that the server is away, is no trouble of its own.
func daemon(ctx context.Context, a *app.App, c *config.Config, told []finding) finding {
	d, err := a.Daemon()
	if err != nil {
		return finding{"daemon", trouble, err.Error(), ""}
	}
	reply, err := d.Ask(ctx, control.Request{Command: control.Status})
	switch {
	case errors.Is(err, control.ErrNotRunning) && !c.Account().SignedIn():
		return finding{"daemon", ok, "it does not run, and this profile has nothing to keep in step", ""}
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
		known := slices.ContainsFunc(told, func(f finding) bool { return f.Detail == p.Trouble })
		if p.Name == c.ProfileName() && p.Trouble != "" && !known && c.Account().SignedIn() {
			f.State, f.Detail, f.Next = trouble, p.Trouble, "bm daemon logs"
		}
	}
	return f
}

// installed sees whether what the system starts is this bm.
func installed(a *app.App) []finding {
	u, own := unit.Installed(a.Getenv)
	switch {
	case u == nil:
		return nil
	case own:
		return []finding{{"unit", ok, "the system starts this bm's daemon, by " + u.Path, ""}}
	}
	return []finding{{"unit", note, u.Path + " starts another bm, or has it look elsewhere", "bm daemon install"}}
}
