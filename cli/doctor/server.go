package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/daemon/control"
	"bm/server/api"
)

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
