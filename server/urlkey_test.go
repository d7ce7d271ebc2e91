package server_test

import (
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
)

// Keys of another version, as an older or newer server left them, are never held
// against those of this one: an import still knows what is there.
func TestKeysOfAnotherVersionDuplicateNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		upload := func(file string) api.ImportSummary {
			return must[api.ImportSummary](t)(ada.Key.Import(ctx, client.InWorkspace(ada.Workspace.ID), "x.html", strings.NewReader(file), ""))
		}
		const file = `<DL><DT><A HREF="https://a.example/A%7e">A</A><DT><A HREF="HTTPS://A.example/A~">A again</A><DT><A HREF="https://b.example/">B</A></DL>`
		if sum := upload(file); sum.Imported != 3 {
			t.Fatalf("%+v", sum)
		}
		err := s.DB().Write(ctx, func(tx *sqldb.Tx) error {
			// B has the key by which the other version knew something else.
			_, err := tx.Exec(ctx, `UPDATE bookmark SET url_key_version = 0, url_key = CASE WHEN title = 'B' THEN 'https://c.example/' ELSE 'old' END WHERE tenant_id = $1`, ada.Workspace.TenantID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if sum := upload(file); sum.Imported != 0 || sum.DuplicatesSkipped != 3 {
			t.Errorf("the second time: %+v", sum)
		}
		if sum := upload(`<DT><A HREF="https://c.example/">C</A>`); sum.Imported != 1 {
			t.Errorf("another: %+v", sum)
		}
	})
}
