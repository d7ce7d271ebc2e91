package servertest

import (
	"fmt"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
)

// Password is that of every account that [Join] makes.
const Password = "a long enough phrase"

// Person is an account of its own organization, signed in.
type Person struct {
	Session api.Session
	// JWT and Key call the server as the account: by its session, and by a
	// tenant-wide API key.
	JWT, Key *client.Client
	// Secret is the key itself.
	Secret api.Secret
	// Workspace is the organization's default workspace.
	Workspace api.Workspace
}

// Join makes an account on a server.
func Join(t testing.TB, s *Server, name string) *Person {
	t.Helper()
	ctx := t.Context()
	c, err := client.New(client.Options{Server: s.URL, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p := &Person{}
	p.Session, err = c.Register(ctx, api.Register{
		Email: fmt.Sprintf("%s@example.test", name), Password: Password, NoticeVersion: "1",
	})
	if err != nil {
		t.Fatalf("register %s: %v", name, err)
	}
	p.JWT = c.As(p.Session.AccessToken)
	key, err := p.JWT.CreateAPIKey(ctx, api.APIKeyCreate{NoticeVersion: "1"})
	if err != nil {
		t.Fatalf("make a key for %s: %v", name, err)
	}
	p.Secret, p.Key = key.APIKey, c.As(key.APIKey)
	workspaces, err := p.JWT.ListWorkspaces(ctx)
	if err != nil || len(workspaces) != 1 {
		t.Fatalf("%s has the workspaces %v: %v", name, workspaces, err)
	}
	p.Workspace = workspaces[0]
	return p
}
