package organizations_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/organizations"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// found founds an organization for an account of its own.
func found(t *testing.T, db *sqldb.DB, s *organizations.Service, newID func() string, name string, generated bool) (account, shown string, err error) {
	t.Helper()
	err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
		account = newID()
		_, err := tx.Exec(t.Context(), `INSERT INTO account (id, email, email_key, home_tenant_id, created_at, updated_at) VALUES ($1, $1, $1, '', 1, 1)`, account)
		if err != nil {
			return err
		}
		tenant, err := s.Create(t.Context(), tx, name, generated, account)
		if err != nil {
			return err
		}
		shown, err = s.Name(t.Context(), tx, tenant)
		return err
	})
	return account, shown, err
}

func TestNames(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		n := 0
		newID := func() string { n++; return fmt.Sprintf("01920000-0000-7000-8000-%012x", n) }
		s := organizations.New(time.Now, newID)
		for i, want := range []string{"info", "info 2", "info 3", "info 4", "info 5"} {
			if _, got, err := found(t, db, s, newID, "info", true); err != nil || got != want {
				t.Errorf("the %dth is called %q, %v, want %q", i+1, got, err, want)
			}
		}
		// Without case, and a chosen name does not give way.
		if _, got, err := found(t, db, s, newID, "INFO", true); err != nil || got != "INFO 6" {
			t.Errorf("%q, %v", got, err)
		}
		if _, _, err := found(t, db, s, newID, "Info", false); !errors.Is(err, &api.Error{Code: api.CodeConflict}) {
			t.Errorf("a chosen name that is taken: %v", err)
		}
		// Names without a letter that a slug has.
		for range 2 {
			if _, _, err := found(t, db, s, newID, "読書", true); err != nil {
				t.Error(err)
			}
		}
		// Thousands of a name.
		err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
			for i := 7; i <= 3000; i++ {
				name := fmt.Sprint("info ", i)
				if _, err := tx.Exec(t.Context(), `INSERT INTO tenant (id, name, name_key, slug, created_at) VALUES ($1, $1, $1, $1, 1)`, name); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, got, err := found(t, db, s, newID, "info", true); err != nil || got != "info 3001" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// An organization begins with its built-in roles and an owner who may do
// everything; an account signs in to its home, else where it has been longest.
func TestFounding(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		n := 0
		newID := func() string { n++; return fmt.Sprintf("01920000-0000-7000-8000-%012x", n) }
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		s := organizations.New(func() time.Time { return now }, newID)
		ada, _, err := found(t, db, s, newID, "First", false)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
			first, err := s.HomeOf(t.Context(), tx, ada)
			if err != nil {
				return err
			}
			m, err := access.Evaluate(t.Context(), tx, first, ada)
			if err != nil || !m.IsOwner || m.Role != api.RoleAdmin || !m.Rights.Tenant.Covers(access.Everything()) {
				t.Errorf("the owner is %+v, %v", m, err)
			}
			var roles int
			if err := tx.Row(t.Context(), `SELECT count(*) FROM role WHERE tenant_id = $1 AND system_key <> ''`, []any{first}, &roles); err != nil || roles != 4 {
				t.Errorf("%d built-in roles, %v", roles, err)
			}
			now = now.Add(time.Hour)
			second, err := s.Create(t.Context(), tx, "Second", false, ada)
			if err != nil {
				return err
			}
			if home, err := s.HomeOf(t.Context(), tx, ada); err != nil || home != first {
				t.Errorf("home is %s, %v, want the first", home, err)
			}
			if _, err := tx.Exec(t.Context(), `UPDATE account SET home_tenant_id = $2 WHERE id = $1`, ada, second); err != nil {
				return err
			}
			if home, err := s.HomeOf(t.Context(), tx, ada); err != nil || home != second {
				t.Errorf("home is %s, %v, want the chosen one", home, err)
			}
			if home, err := s.HomeOf(t.Context(), tx, "nobody"); err != nil || home != "" {
				t.Errorf("nobody's home is %q, %v", home, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
