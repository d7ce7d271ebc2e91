package mirror_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/mirror"
	"bm/cli/output"
	"bm/server/api"
)

const tenant = "01890a5d-ac96-774b-bcce-b302099a8001"

// origin is a server with two workspaces and one key.
type origin struct {
	*httptest.Server
	key     atomic.Value
	asked   atomic.Bool  // for its workspaces
	refused atomic.Int32 // requests with another key
	events  bool
	tenant  string
	gone    bool // the first workspace is
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{events: true, tenant: tenant}
	o.key.Store("bmk_first")
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(status int, body any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			if err := json.NewEncoder(w).Encode(body); err != nil {
				t.Error(err)
			}
		}
		switch {
		case r.URL.Path == "/.well-known/bm":
			info := api.ServerInfo{Extensions: []string{api.ExtChanges}}
			if o.events {
				info.Extensions = append(info.Extensions, api.ExtEvents)
			}
			answer(200, info)
		case r.Header.Get("Authorization") != "Bearer "+o.key.Load().(string):
			o.refused.Add(1)
			answer(401, api.Errorf(api.CodeUnauthorized, "no").Envelope())
		case r.URL.Path == "/workspaces":
			o.asked.Store(true)
			workspaces := []api.Workspace{
				{ID: "01890a5d-ac96-774b-bcce-b302099a8002", TenantID: o.tenant, Name: "One", Slug: "one", IsDefault: true},
				{ID: "01890a5d-ac96-774b-bcce-b302099a8003", TenantID: o.tenant, Name: "Two", Slug: "two"},
			}
			if o.gone {
				workspaces = workspaces[1:]
			}
			answer(200, workspaces)
		case r.URL.Path == "/me/events":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": hello\n\ndata: {\"workspaceId\":\"w\",\"rev\":1}\n\n")
		default:
			answer(404, api.Errorf(api.CodeNotFound, "no such thing").Envelope())
		}
	}))
	t.Cleanup(o.Close)
	return o
}

// signedIn is an app whose profile is signed in to the server.
func signedIn(t *testing.T, server string) *app.App {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "no-bus"))
	home := t.TempDir()
	env := map[string]string{"HOME": home, "BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data"}
	var out bytes.Buffer
	a := app.New("test", output.Fixed(strings.NewReader(""), &out, &out, time.Now), func(key string) string { return env[key] })
	if server == "" {
		return a
	}
	c, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Save(config.Account{Server: server, TenantID: tenant}, config.Chosen{}); err != nil {
		t.Fatal(err)
	}
	keep(t, a, "bmk_first")
	return a
}

func keep(t *testing.T, a *app.App, key api.Secret) {
	t.Helper()
	keys, err := a.Keys()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Set(credentials.Name(config.DefaultProfile, tenant), key, true); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, a *app.App) *mirror.Profile {
	t.Helper()
	p, err := mirror.Open(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func states(t *testing.T, p *mirror.Profile) string {
	t.Helper()
	replicas, err := p.Store().Replicas(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range replicas {
		list = append(list, r.Name+" "+string(r.State))
	}
	return strings.Join(list, ", ")
}

// withToken is the app with a server and a token of its environment's own.
func withToken(a *app.App, server, token string) *app.App {
	var out bytes.Buffer
	return app.New("test", output.Fixed(strings.NewReader(""), &out, &out, time.Now), func(key string) string {
		switch key {
		case "BM_SERVER":
			return server
		case "BM_TOKEN":
			return token
		}
		return a.Getenv(key)
	})
}
