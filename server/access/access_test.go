package access_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bm/server/access"
	"bm/server/api"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

func TestSets(t *testing.T) {
	read := access.SetOf(access.BookmarksRead, access.FoldersRead)
	if !read.Has(access.BookmarksRead) || read.Has(access.BookmarksWrite) || read.Has("bookmarks.fly") || read.Has("none") {
		t.Errorf("the set has %v", read.Keys())
	}
	if access.SetOf("bookmarks.fly", "") != 0 {
		t.Error("what is no permission is in the set")
	}
	if got := strings.Join(read.Keys(), " "); got != "bookmarks.read folders.read" {
		t.Errorf("keys %s", got)
	}
	if keys := access.Set(0).Keys(); keys == nil || len(keys) != 0 {
		t.Errorf("of none: %#v, want an empty list that is none in JSON too", keys)
	}
	all := access.Everything()
	if !all.Covers(read) || read.Covers(all) || !read.Covers(read) || !read.Covers(0) {
		t.Error("a set covers what it holds, and no more")
	}
	// A key's place is its bit, which is nowhere stored, and keys are never
	// given twice.
	keys := all.Keys()
	if len(keys) != 27 || !slices.IsSorted(keys) || len(slices.Compact(keys)) != 27 {
		t.Errorf("%d permissions: %v", len(keys), keys)
	}
	for _, key := range keys {
		if !access.Permission(key).Valid() || access.SetOf(access.Permission(key)).Keys()[0] != key {
			t.Errorf("%s is not found by its name", key)
		}
	}
}

// The built-in roles are those of the contract.
func TestBuiltInRoles(t *testing.T) {
	for role, want := range map[access.SystemRole]string{
		access.Editor:        "bookmarks.delete bookmarks.read bookmarks.write folders.delete folders.read folders.write shares.read shares.write workspaces.read",
		access.Viewer:        "bookmarks.read folders.read workspaces.read",
		access.Support:       "billing.read bookmarks.read folders.read groups.read roles.read units.read workspaces.read",
		access.Administrator: strings.Join(access.Everything().Keys(), " "),
		"nobody":             "",
	} {
		if got := strings.Join(role.Permissions().Keys(), " "); got != want {
			t.Errorf("%s may %s, want %s", role, got, want)
		}
	}
	if n := len(access.BuiltIns()); n != 4 {
		t.Errorf("%d built-in roles", n)
	}
}

func TestPrincipals(t *testing.T) {
	rights := access.Rights{
		Tenant:     access.SetOf(access.MembersRead, access.FoldersRead),
		Workspaces: map[string]access.Set{"a": access.SetOf(access.BookmarksRead), "b": 0},
		Deleted:    map[string]access.Set{"d": access.SetOf(access.WorkspacesWrite)},
	}
	keys := func(s access.Set) string { return strings.Join(s.Keys(), " ") }
	for name, c := range map[string]struct {
		p                                       access.Principal
		narrowed                                bool
		inA, inB, inD, inX, deletedD, effective string
	}{
		"a user":          {access.Principal{Kind: access.JWT, WorkspaceID: "a"}, false, "bookmarks.read folders.read", "folders.read", "", "", "folders.read workspaces.write", "bookmarks.read folders.read members.read"},
		"a wide key":      {access.Principal{Kind: access.Key}, false, "bookmarks.read folders.read", "folders.read", "", "", "folders.read workspaces.write", "bookmarks.read folders.read members.read"},
		"a key of a":      {access.Principal{Kind: access.Key, WorkspaceID: "a"}, true, "bookmarks.read folders.read", "", "", "", "", "bookmarks.read folders.read"},
		"a key of d":      {access.Principal{Kind: access.Key, WorkspaceID: "d"}, true, "", "", "", "", "folders.read workspaces.write", ""},
		"a key of no one": {access.Principal{Kind: access.Key, WorkspaceID: "x"}, true, "", "", "", "", "", ""},
	} {
		p := c.p
		p.Rights = rights
		if p.Narrowed() != c.narrowed {
			t.Errorf("%s: narrowed is %v", name, p.Narrowed())
		}
		for what, pair := range map[string][2]string{
			"in a": {keys(p.InWorkspace("a")), c.inA}, "in b": {keys(p.InWorkspace("b")), c.inB}, "in d": {keys(p.InWorkspace("d")), c.inD},
			"in x": {keys(p.InWorkspace("x")), c.inX}, "in the deleted d": {keys(p.InDeleted("d")), c.deletedD}, "anywhere": {keys(p.Effective()), c.effective},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s %s may %q, want %q", name, what, pair[0], pair[1])
			}
		}
	}
	masked := rights.Masked(access.SetOf(access.BookmarksRead, access.BookmarksWrite))
	if keys(masked.In("a")) != "bookmarks.read" || masked.In("b") != 0 || masked.Tenant != 0 || masked.InDeleted("d") != 0 {
		t.Errorf("masked: %+v", masked)
	}
	if rights.In("a") == masked.In("a") {
		t.Error("a mask changed the rights that it was laid on")
	}
}

// Rights are the membership's role and every assignment to the account, added
// up; nothing of another tenant or account is among them.
func TestEvaluate(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		exec := func(text string, args ...any) {
			t.Helper()
			err := db.Write(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, text, args...)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, tenant := range []string{"t", "u"} {
			exec(`INSERT INTO tenant (id, name, name_key, slug, created_at) VALUES ($1, $1, $1, $1, 1)`, tenant)
			exec(`INSERT INTO role (id, tenant_id, name, name_key, system_key, created_at) VALUES ($1, $2, 'Viewer', 'viewer', 'viewer', 1)`, tenant+"-viewer", tenant)
			exec(`INSERT INTO role (id, tenant_id, name, name_key, permissions, created_at) VALUES ($1, $2, 'Own', 'own', '["shares.read","shares.fly"]', 1)`, tenant+"-own", tenant)
			for _, w := range []string{"1", "2"} {
				exec(`INSERT INTO workspace (id, tenant_id, name, slug, created_at, updated_at) VALUES ($1, $2, 'w', $1, 1, 1)`, tenant+w, tenant)
			}
			exec(`INSERT INTO workspace (id, tenant_id, name, slug, created_at, updated_at, deleted_at) VALUES ($1, $2, 'w', $1, 1, 1, 2)`, tenant+"x", tenant)
		}
		for _, account := range []string{"ada", "bob", "eve"} {
			exec(`INSERT INTO account (id, email, email_key, home_tenant_id, created_at, updated_at) VALUES ($1, $1, $1, 't', 1, 1)`, account)
		}
		exec(`INSERT INTO membership (tenant_id, account_id, role, is_owner, created_at) VALUES ('t', 'ada', 'admin', TRUE, 1), ('t', 'bob', 'member', FALSE, 1), ('u', 'eve', 'support', FALSE, 1), ('u', 'bob', 'admin', FALSE, 1)`)
		assign := func(id, tenant, account, role, scope, where string) {
			t.Helper()
			exec(`INSERT INTO role_assignment (id, tenant_id, account_id, role_id, scope_type, scope_id, created_at) VALUES ($1, $2, $3, $4, $5, $6, 1)`, id, tenant, account, role, scope, where)
		}
		read := func(tenant, account string) (m access.Membership, err error) {
			err = db.Read(ctx, func(tx *sqldb.Tx) error {
				m, err = access.Evaluate(ctx, tx, tenant, account)
				return err
			})
			return m, err
		}
		keys := func(s access.Set) string { return strings.Join(s.Keys(), " ") }
		want := func(tenant, account string, role api.MembershipRole, inTenant, first, second, deleted string) {
			t.Helper()
			m, err := read(tenant, account)
			if err != nil || m.Role != role || m.IsOwner != (account == "ada") {
				t.Errorf("%s in %s is %+v, %v", account, tenant, m, err)
			}
			for what, pair := range map[string][2]string{
				"tenant": {keys(m.Rights.Tenant), inTenant}, "first": {keys(m.Rights.In(tenant + "1")), first},
				"second": {keys(m.Rights.In(tenant + "2")), second}, "deleted": {keys(m.Rights.InDeleted(tenant + "x")), deleted},
				"the deleted, as if it lived": {keys(m.Rights.In(tenant + "x")), ""},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s in %s, %s: may %q, want %q", account, tenant, what, pair[0], pair[1])
				}
			}
			for other := range map[string]bool{"t1": true, "u1": true} {
				if !strings.HasPrefix(other, tenant) && m.Rights.In(other) != 0 {
					t.Errorf("%s in %s reaches %s", account, tenant, other)
				}
			}
		}
		everywhere := "bookmarks.delete bookmarks.read bookmarks.write folders.delete folders.read folders.write shares.read shares.write workspaces.delete workspaces.read workspaces.write"
		support := "bookmarks.read folders.read workspaces.read"
		want("t", "ada", api.RoleAdmin, keys(access.Everything()), everywhere, everywhere, everywhere)
		want("t", "bob", api.RoleMember, "workspaces.create", "", "", "")
		want("u", "eve", api.RoleSupport, keys(access.Support.Permissions()), support, support, support)
		for _, stranger := range [][2]string{{"t", "eve"}, {"u", "ada"}, {"t", "nobody"}, {"none", "ada"}} {
			if _, err := read(stranger[0], stranger[1]); !errors.Is(err, access.ErrNoMember) {
				t.Errorf("%s in %s: %v", stranger[1], stranger[0], err)
			}
		}

		assign("1", "t", "bob", "t-viewer", "workspace", "t1")
		assign("2", "t", "bob", "t-own", "workspace", "t1")
		assign("3", "t", "bob", "t-viewer", "workspace", "tx")
		assign("4", "u", "eve", "u-own", "org", "")
		viewer := "bookmarks.read folders.read workspaces.read"
		want("t", "bob", api.RoleMember, "workspaces.create", "bookmarks.read folders.read shares.read workspaces.read", "", viewer)
		want("u", "eve", api.RoleSupport, keys(access.Support.Permissions()|access.SetOf(access.SharesRead)),
			"bookmarks.read folders.read shares.read workspaces.read", "bookmarks.read folders.read shares.read workspaces.read", "bookmarks.read folders.read shares.read workspaces.read")
		// What is given in another tenant, to another account, or somewhere that is
		// neither the organization nor a workspace, gives nothing here.
		assign("6", "u", "bob", "u-own", "org", "")
		assign("7", "t", "ada", "t-own", "org", "")
		assign("8", "t", "bob", "t-own", "unit", "t1")
		want("t", "bob", api.RoleMember, "workspaces.create", "bookmarks.read folders.read shares.read workspaces.read", "", viewer)
		// One that was withdrawn, and one of another tenant's workspace.
		exec(`UPDATE role_assignment SET status = 'revoked' WHERE id = '1'`)
		assign("5", "t", "bob", "t-viewer", "workspace", "u1")
		want("t", "bob", api.RoleMember, "workspaces.create", "shares.read", "", viewer)
	})
}
