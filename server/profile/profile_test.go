package profile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bm/server/access"
	"bm/server/api"
	"bm/server/servertest"
)

func TestProfile(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx := t.Context()
		ada := servertest.Join(t, s, "ada")
		me, err := ada.JWT.Me(ctx)
		if err != nil {
			t.Fatal(err)
		}
		account := ada.Session.Account
		if me != account || me.Email != "ada@example.test" || me.DisplayName != "" || me.AvatarURL != "" || me.TwoFactorEnabled ||
			me.HomeTenantID != me.TenantID || me.ActiveTenantID != me.TenantID || !me.CanManageBilling || !me.IsOwner {
			t.Errorf("profile %+v, at sign-in %+v", me, account)
		}
		if byKey, err := ada.Key.Me(ctx); err != nil || byKey != me {
			t.Errorf("by key %+v, %v", byKey, err)
		}

		patch := func(in api.ProfilePatch) api.AccountProfile {
			t.Helper()
			p, err := ada.JWT.UpdateMe(ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := patch(api.ProfilePatch{DisplayName: api.Some(" Ada\tLovelace "), AvatarURL: api.Some(" https://example.test/ada.png ")})
		if p.DisplayName != "Ada Lovelace" || p.AvatarURL != "https://example.test/ada.png" {
			t.Errorf("changed to %+v", p)
		}
		if p = patch(api.ProfilePatch{}); p.DisplayName != "Ada Lovelace" || p.AvatarURL == "" {
			t.Errorf("nothing given changed it to %+v", p)
		}
		if p = patch(api.ProfilePatch{AvatarURL: api.Clear[string]()}); p.DisplayName != "Ada Lovelace" || p.AvatarURL != "" {
			t.Errorf("null made it %+v", p)
		}
		if p = patch(api.ProfilePatch{DisplayName: api.Some("")}); p.DisplayName != "" {
			t.Errorf("an empty text made it %+v", p)
		}
		for name, bad := range map[string]api.ProfilePatch{
			"a long name":     {DisplayName: api.Some(strings.Repeat("x", 257))},
			"a long address":  {AvatarURL: api.Some("https://example.test/" + strings.Repeat("x", 2048))},
			"a script":        {AvatarURL: api.Some("javascript:alert(1)")},
			"data":            {AvatarURL: api.Some("data:image/png;base64,AAAA")},
			"a relative path": {AvatarURL: api.Some("/ada.png")},
			"no host":         {AvatarURL: api.Some("https:///ada.png")},
		} {
			if _, err := ada.JWT.UpdateMe(ctx, bad); !errors.Is(err, &api.Error{Code: api.CodeValidation}) {
				t.Errorf("%s: %v", name, err)
			}
		}
		// One bad field leaves the good one alone too.
		if _, err := ada.JWT.UpdateMe(ctx, api.ProfilePatch{DisplayName: api.Some("Eve"), AvatarURL: api.Some("x")}); err == nil {
			t.Error("a bad address was taken")
		}
		if me, err := ada.JWT.Me(ctx); err != nil || me.DisplayName != "" {
			t.Errorf("half of a refused change is there: %+v, %v", me, err)
		}
	})
}

func TestOwnPermissions(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ada := servertest.Join(t, s, "ada")
		got, err := ada.JWT.MyPermissions(t.Context())
		if err != nil || !slices.Equal(got, access.Everything().Keys()) {
			t.Errorf("an owner may %v, %v", got, err)
		}
		key, err := ada.JWT.CreateAPIKey(t.Context(), api.APIKeyCreate{NoticeVersion: "1", WorkspaceID: api.Some(ada.Workspace.ID)})
		if err != nil {
			t.Fatal(err)
		}
		got, err = ada.JWT.As(key.APIKey).MyPermissions(t.Context())
		if err != nil || slices.Contains(got, "members.read") || !slices.Contains(got, "bookmarks.write") || !slices.IsSorted(got) {
			t.Errorf("a key of one workspace may %v, %v", got, err)
		}
	})
}
