package auth_test

import (
	"fmt"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
)

// What one process decides holds in another from its next request on.
func TestProcessesAgreeAtOnce(t *testing.T) {
	config := server.Config{DatabaseURL: sqldbtest.Postgres(t)}
	one, two := servertest.Start(t, config), servertest.Start(t, config)
	ada := join(t, one, "ada")
	token := ada.AccessToken.Reveal()
	for range 2 { // the second time from memory
		who(t, one, token).ok(t, 200)
		who(t, two, token).ok(t, 200)
	}

	key := makeKey(t, one, token, "")
	who(t, two, key.APIKey.Reveal()).ok(t, 200)
	rotated := decode[api.APIKeySecret](t, send(t, one, "POST", "/api/v1/api-keys/"+key.Metadata.ID+"/rotate", token, ""), 200)
	who(t, two, key.APIKey.Reveal()).want(t, api.CodeUnauthorized)
	who(t, two, rotated.APIKey.Reveal()).ok(t, 200)
	send(t, one, "POST", "/api/v1/api-keys/"+key.Metadata.ID+"/revoke", token, "").ok(t, 204)
	who(t, two, rotated.APIKey.Reveal()).want(t, api.CodeUnauthorized)

	made := decode[api.Workspace](t, send(t, one, "POST", "/workspaces", token, `{"name":"New"}`), 201)
	send(t, two, "GET", "/workspaces/"+made.ID, token, "").ok(t, 200)
	send(t, two, "DELETE", "/workspaces/"+made.ID, token, "").ok(t, 204)
	send(t, one, "GET", "/workspaces/"+made.ID, token, "").want(t, api.CodeGone)

	// Either renews what the other gave out.
	renewed := decode[api.Session](t, renew(t, two, ada), 200)
	who(t, one, renewed.AccessToken.Reveal()).ok(t, 200)
	send(t, one, "POST", "/auth/logout", renewed.AccessToken.Reveal(), "").ok(t, 204)
	who(t, two, renewed.AccessToken.Reveal()).want(t, api.CodeUnauthorized)
	who(t, two, token).want(t, api.CodeUnauthorized)
	renew(t, two, renewed).want(t, api.CodeUnauthorized)
}

// Processes that begin at the same moment, on a database that is new, believe
// each other's tokens.
func TestProcessesStartTogether(t *testing.T) {
	config := server.Config{DatabaseURL: sqldbtest.Postgres(t)}
	servers := make([]*servertest.Server, 3)
	servers[0] = servertest.Start(t, config) // migrates
	exec(t, behind(t, config), `DELETE FROM signing_key`)
	for i := range servers[1:] {
		servers[i+1] = servertest.Start(t, config)
	}
	for i, s := range servers {
		session := join(t, s, fmt.Sprint("ada", i))
		for _, other := range servers {
			who(t, other, session.AccessToken.Reveal()).ok(t, 200)
		}
	}
}

// A change beside the running server, as an administrator's command makes it,
// holds at once too.
func TestChangesBehindTheServerHoldAtOnce(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		s := servertest.Start(t, config)
		db := behind(t, config)
		ada, eve := join(t, s, "ada"), join(t, s, "eve")
		token := ada.AccessToken.Reveal()
		key, evesKey := makeKey(t, s, token, ""), makeKey(t, s, eve.AccessToken.Reveal(), "")
		workspace := decode[[]api.Workspace](t, send(t, s, "GET", "/workspaces", token, ""), 200)[0].ID
		who(t, s, token).ok(t, 200)
		who(t, s, key.APIKey.Reveal()).ok(t, 200)

		// The role: an administrator becomes a member, whose own workspace stays.
		exec(t, db, `UPDATE membership SET role = 'member', is_owner = FALSE WHERE account_id = $1`, ada.Account.AccountID)
		send(t, s, "GET", "/workspaces/deleted", token, "").want(t, api.CodeForbidden)
		send(t, s, "GET", "/workspaces/"+workspace, key.APIKey.Reveal(), "").ok(t, 200)
		// The assignment.
		exec(t, db, `DELETE FROM role_assignment WHERE account_id = $1`, ada.Account.AccountID)
		send(t, s, "GET", "/workspaces/"+workspace, token, "").want(t, api.CodeNotFound)
		send(t, s, "GET", "/workspaces/"+workspace, key.APIKey.Reveal(), "").want(t, api.CodeNotFound)
		// The membership: a key dies with it, a session goes on elsewhere.
		exec(t, db, `DELETE FROM membership WHERE account_id = $1`, ada.Account.AccountID)
		who(t, s, token).want(t, api.CodeUnauthorized)
		who(t, s, key.APIKey.Reveal()).want(t, api.CodeUnauthorized)
		again := decode[api.Session](t, renew(t, s, ada), 200)
		if again.Account.TenantID == ada.Account.TenantID || !again.Account.IsOwner {
			t.Errorf("an account without an organization got %+v", again.Account)
		}
		who(t, s, again.AccessToken.Reveal()).ok(t, 200)

		// The account: locked, it answers like a wrong password.
		wrong := send(t, s, "POST", "/auth/login", "", `{"email":"eve@example.test","password":"something else"}`, "X-Correlation-ID", "same")
		exec(t, db, `UPDATE account SET locked_at = 1 WHERE id = $1`, eve.Account.AccountID)
		who(t, s, eve.AccessToken.Reveal()).want(t, api.CodeUnauthorized)
		who(t, s, evesKey.APIKey.Reveal()).want(t, api.CodeUnauthorized)
		renew(t, s, eve).want(t, api.CodeUnauthorized)
		locked := send(t, s, "POST", "/auth/login", "", fmt.Sprintf(`{"email":"eve@example.test","password":%q}`, phrase), "X-Correlation-ID", "same")
		if locked.want(t, api.CodeUnauthorized); locked.body != wrong.body {
			t.Errorf("a locked account is told from a wrong password: %s, %s", locked.body, wrong.body)
		}
	})
}
