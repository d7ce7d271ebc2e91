package auth_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"bm/server"
	"bm/server/access"
	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
)

func permissions(t testing.TB, s *servertest.Server, token string) []string {
	t.Helper()
	return decode[api.Permissions](t, send(t, s, "GET", "/api/v1/me/permissions", token, ""), 200).Permissions
}

// A key makes none wider than itself: not by its permissions, not by its end,
// not by its workspace, not by getting hold of another's secret.
func TestAKeyMakesNoneWider(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		c := newClock()
		config.Now = c.now
		s := servertest.Start(t, config)
		jwt := join(t, s, "ada").AccessToken.Reveal()
		workspace := decode[[]api.Workspace](t, send(t, s, "GET", "/workspaces", jwt, ""), 200)[0].ID
		end := api.At(c.now().Add(time.Hour))
		refused := func(token, fields, field string) {
			t.Helper()
			e := send(t, s, "POST", "/api/v1/api-keys", token, `{"noticeVersion":"1"`+fields+`}`).want(t, api.CodeValidation)
			if !slices.ContainsFunc(e.Details, func(d api.FieldError) bool { return d.Field == field }) {
				t.Errorf("%s: %+v does not name %s", fields, e, field)
			}
		}
		whole := makeKey(t, s, jwt, "")
		if !slices.Equal(permissions(t, s, whole.APIKey.Reveal()), access.Everything().Keys()) {
			t.Error("a key of an owner may less than its account")
		}
		masked := makeKey(t, s, jwt, `,"permissions":["bookmarks.read","apikeys.read"]`)
		if got := permissions(t, s, masked.APIKey.Reveal()); !slices.Equal(got, []string{"apikeys.read", "bookmarks.read"}) {
			t.Errorf("the narrowed key may %v", got)
		}
		none := makeKey(t, s, jwt, `,"permissions":[]`)
		if got := permissions(t, s, none.APIKey.Reveal()); len(got) != 0 {
			t.Errorf("a key for nothing may %v", got)
		}
		// Shown without any, it would look like one that may everything.
		if none.Metadata.Permissions == nil || whole.Metadata.Permissions != nil {
			t.Errorf("a key for nothing shows %v, a whole one %v", none.Metadata.Permissions, whole.Metadata.Permissions)
		}
		// By its permissions.
		child := makeKey(t, s, masked.APIKey.Reveal(), "")
		if got := permissions(t, s, child.APIKey.Reveal()); !slices.Equal(got, []string{"apikeys.read", "bookmarks.read"}) {
			t.Errorf("what a narrowed key made may %v", got)
		}
		refused(masked.APIKey.Reveal(), `,"permissions":["bookmarks.read","bookmarks.write"]`, "body.permissions[1]")
		refused(jwt, `,"permissions":["bookmarks.fly"]`, "body.permissions[0]")
		send(t, s, "GET", "/workspaces/"+workspace+"/folders", masked.APIKey.Reveal(), "").want(t, api.CodeForbidden)
		send(t, s, "POST", "/workspaces/"+workspace+"/bookmarks", masked.APIKey.Reveal(), `{"title":"x"}`).want(t, api.CodeForbidden)
		send(t, s, "GET", "/workspaces/"+workspace+"/bookmarks", masked.APIKey.Reveal(), "").ok(t, 200)

		// By its end.
		short := makeKey(t, s, jwt, fmt.Sprintf(`,"expiresAt":%q`, end))
		refused(short.APIKey.Reveal(), "", "body.expiresAt")
		refused(short.APIKey.Reveal(), fmt.Sprintf(`,"expiresAt":%q`, api.At(end.Add(time.Second))), "body.expiresAt")
		makeKey(t, s, short.APIKey.Reveal(), fmt.Sprintf(`,"expiresAt":%q`, end))
		refused(jwt, fmt.Sprintf(`,"expiresAt":%q`, api.At(c.now().Add(-time.Second))), "body.expiresAt")
		refused(jwt, `,"expiresAt":"2026-02-30T00:00:00Z"`, "body.expiresAt")

		// By its workspace.
		narrow := makeKey(t, s, jwt, fmt.Sprintf(`,"workspaceId":%q`, workspace))
		send(t, s, "POST", "/api/v1/api-keys", narrow.APIKey.Reveal(), `{"noticeVersion":"1"}`).want(t, api.CodeForbidden)
		refused(jwt, `,"workspaceId":"01890a5d-ac96-774b-bcce-b302099a8057"`, "body.workspaceId")

		// By another's secret.
		rotate := func(by api.APIKeySecret, id string) answer {
			return send(t, s, "POST", "/api/v1/api-keys/"+id+"/rotate", by.APIKey.Reveal(), "")
		}
		for _, by := range []api.APIKeySecret{masked, none, short, narrow} {
			rotate(by, whole.Metadata.ID).want(t, api.CodeForbidden)
		}
		rotate(none, masked.Metadata.ID).want(t, api.CodeForbidden)
		who(t, s, whole.APIKey.Reveal()).ok(t, 200)
		who(t, s, masked.APIKey.Reveal()).ok(t, 200)
		rotated := decode[api.APIKeySecret](t, rotate(masked, masked.Metadata.ID), 200)
		if got := permissions(t, s, rotated.APIKey.Reveal()); !slices.Equal(got, []string{"apikeys.read", "bookmarks.read"}) {
			t.Errorf("the rotated key may %v", got)
		}

		// An end holds to the moment.
		who(t, s, short.APIKey.Reveal()).ok(t, 200)
		c.advance(time.Hour - time.Millisecond)
		who(t, s, short.APIKey.Reveal()).ok(t, 200)
		c.advance(time.Millisecond)
		who(t, s, short.APIKey.Reveal()).want(t, api.CodeUnauthorized)
	})
}

// Everybody sees and ends their own keys; those of others whoever may in all of
// the organization, but rotates none of them: that would be to act as another.
func TestKeysOfOthers(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		s := servertest.Start(t, config)
		ada, bob := join(t, s, "ada"), join(t, s, "bob")
		exec(t, behind(t, config), `INSERT INTO membership (tenant_id, account_id, role, is_owner, created_at) VALUES ($1, $2, 'member', FALSE, 1)`,
			ada.Account.TenantID, bob.Account.AccountID)
		guest := decode[api.Session](t, send(t, s, "POST", "/auth/switch-organization", bob.AccessToken.Reveal(), fmt.Sprintf(`{"tenantId":%q}`, ada.Account.TenantID)), 200)
		admin, member := ada.AccessToken.Reveal(), guest.AccessToken.Reveal()
		hers, his := makeKey(t, s, admin, ""), makeKey(t, s, member, "")
		reader := makeKey(t, s, admin, `,"permissions":["apikeys.read"]`)
		blind := makeKey(t, s, admin, `,"permissions":["apikeys.write"]`)
		list := func(token string) (ids []string) {
			t.Helper()
			for _, key := range decode[[]api.APIKeyMetadata](t, send(t, s, "GET", "/api/v1/api-keys", token, ""), 200) {
				ids = append(ids, key.ID)
			}
			slices.Sort(ids)
			return ids
		}
		own := []string{hers.Metadata.ID, reader.Metadata.ID, blind.Metadata.ID}
		all := append([]string{his.Metadata.ID}, own...)
		slices.Sort(own)
		slices.Sort(all)
		for name, c := range map[string]struct {
			token string
			want  []string
		}{
			"an admin": {admin, all}, "a key that may read keys": {reader.APIKey.Reveal(), all},
			"a key that may not": {blind.APIKey.Reveal(), own}, "a member": {member, []string{his.Metadata.ID}},
		} {
			if got := list(c.token); !slices.Equal(got, c.want) {
				t.Errorf("%s sees the keys %v, want %v", name, got, c.want)
			}
		}
		do := func(token, what string, key api.APIKeySecret) answer {
			t.Helper()
			return send(t, s, "POST", "/api/v1/api-keys/"+key.Metadata.ID+"/"+what, token, "{}")
		}
		for _, what := range []string{"revoke", "rotate"} {
			do(member, what, hers).want(t, api.CodeNotFound)
			do(blind.APIKey.Reveal(), what, his).want(t, api.CodeNotFound)
			do(reader.APIKey.Reveal(), what, his).want(t, api.CodeForbidden)
		}
		do(admin, "rotate", his).want(t, api.CodeForbidden)
		who(t, s, his.APIKey.Reveal()).ok(t, 200)
		do(admin, "revoke", his).ok(t, 204)
		who(t, s, his.APIKey.Reveal()).want(t, api.CodeUnauthorized)
	})
}

// Of a rotation and a revocation at once, one comes first: nobody is given a secret
// that never worked.
func TestAKeyIsRevokedWhileItIsRotated(t *testing.T) {
	config := server.Config{DatabaseURL: sqldbtest.Postgres(t)}
	s := servertest.Start(t, config)
	token := join(t, s, "ada").AccessToken.Reveal()
	key := makeKey(t, s, token, "")
	rotated := during(t, behind(t, config), `UPDATE api_key SET revoked_at = 1`, func() answer {
		return send(t, s, "POST", "/api/v1/api-keys/"+key.Metadata.ID+"/rotate", token, "")
	})
	rotated.want(t, api.CodeConflict)
}

func TestKeysAreListedWithoutSecrets(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		c := newClock()
		config.Now = c.now
		s := servertest.Start(t, config)
		jwt := join(t, s, "ada").AccessToken.Reveal()
		first := makeKey(t, s, jwt, `,"label":" On the laptop "`)
		c.advance(time.Minute)
		second := makeKey(t, s, jwt, "")
		if first.Metadata.Label != "On the laptop" || first.Metadata.Status != api.KeyActive || !first.Metadata.RotatedAt.IsZero() {
			t.Errorf("metadata %+v", first.Metadata)
		}
		c.advance(time.Minute)
		rotated := decode[api.APIKeySecret](t, send(t, s, "POST", "/api/v1/api-keys/"+first.Metadata.ID+"/rotate", jwt, "{}"), 200)
		if rotated.Metadata.ID != first.Metadata.ID || !rotated.Metadata.RotatedAt.Equal(c.now()) || rotated.APIKey == first.APIKey {
			t.Errorf("rotated %+v", rotated.Metadata)
		}
		send(t, s, "POST", "/api/v1/api-keys/"+second.Metadata.ID+"/revoke", jwt, "").ok(t, 204)
		// Again changes nothing; a revoked key does not come back.
		at := api.At(c.now())
		c.advance(time.Minute)
		send(t, s, "POST", "/api/v1/api-keys/"+second.Metadata.ID+"/revoke", jwt, "{}").ok(t, 204)
		send(t, s, "POST", "/api/v1/api-keys/"+second.Metadata.ID+"/rotate", jwt, "").want(t, api.CodeConflict)

		a := send(t, s, "GET", "/api/v1/api-keys", jwt, "")
		list := decode[[]api.APIKeyMetadata](t, a, 200)
		if len(list) != 2 || list[0].ID != second.Metadata.ID || list[0].Status != api.KeyRevoked || !list[0].RevokedAt.Equal(at.Time) {
			t.Errorf("keys %+v", list)
		}
		for _, secret := range []api.APIKeySecret{first, second, rotated} {
			if body := secret.APIKey.Reveal(); len(body) < 40 || slices.Contains([]string{a.body}, body) {
				t.Errorf("a secret of %d characters", len(body))
			}
		}
	})
}

// When a key was last used is told to the minute, and not forgotten at a stop.
func TestLastUse(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		c := newClock()
		config.Now = c.now
		var used, idle api.APIKeySecret
		t.Run("using", func(t *testing.T) {
			s := servertest.Start(t, config)
			token := join(t, s, "ada").AccessToken.Reveal()
			used, idle = makeKey(t, s, token, ""), makeKey(t, s, token, "")
			c.advance(90 * time.Second)
			who(t, s, used.APIKey.Reveal()).ok(t, 200)
			c.advance(40 * time.Second)
			who(t, s, used.APIKey.Reveal()).ok(t, 200)
		})
		t.Run("looking", func(t *testing.T) {
			s := servertest.Start(t, config)
			list := decode[[]api.APIKeyMetadata](t, send(t, s, "GET", "/api/v1/api-keys", logIn(t, s, "ada").AccessToken.Reveal(), ""), 200)
			for _, key := range list {
				switch {
				case key.ID == used.Metadata.ID && !key.LastUsedAt.Equal(c.now().Truncate(time.Minute)):
					t.Errorf("the key was used at %s, it says %s", c.now(), key.LastUsedAt)
				case key.ID == idle.Metadata.ID && !key.LastUsedAt.IsZero():
					t.Errorf("an idle key was used at %s", key.LastUsedAt)
				}
			}
		})
	})
}
