package localstore_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bm/localstore"
	"bm/server/api/exchange"
)

// An edit is asked for at the first entry of an import, by another process or
// by the same one: it gets its turn behind the step that runs.
func TestAnImportMakesRoomForAnEdit(t *testing.T) {
	for name, other := range map[string]bool{"another process": true, "the same": false} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "replica.db")
			s := openAt(t, path)
			r, err := s.Local(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			editor := s
			if other {
				editor = openAt(t, path)
			}
			var file strings.Builder
			const rows = 1100 // in four steps of one transaction, if nobody waits
			for i := range rows {
				file.WriteString(`<DT><A HREF="https://a.example/` + strconv.Itoa(i) + `">x</A>` + "\n")
			}
			asked, found := false, make(chan int, 1)
			transactions := 0
			importText(t, s, file.String(), localstore.Import{
				Replica: r.N, Command: "import",
				Step: func(exchange.Step) {
					if asked {
						return
					}
					asked = true
					go func() {
						n, err := localstore.CountWriting(t, editor, r.N)
						if err != nil {
							t.Error(err)
						}
						found <- n
					}()
					localstore.AwaitWanted(s)
				},
				Progress: func(int) { transactions++ },
			})
			if n := <-found; n == 0 || n >= rows {
				t.Errorf("the edit found %d of %d bookmarks", n, rows)
			}
			if transactions < 2 {
				t.Errorf("%d transactions beside an edit", transactions)
			}
		})
	}
}

// A transaction holds more than one step where nobody waits for its end.
func TestAloneAnImportTakesLargeSteps(t *testing.T) {
	var file strings.Builder
	for i := range 1100 {
		file.WriteString(`<DT><A HREF="https://a.example/` + strconv.Itoa(i) + `">x</A>` + "\n")
	}
	transactions := map[bool]int{}
	for _, waits := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "replica.db")
		s := openAt(t, path)
		r, err := s.Local(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if waits {
			localstore.Waits(t, path)
		}
		importText(t, s, file.String(), localstore.Import{
			Replica: r.N, Command: "import", Progress: func(int) { transactions[waits]++ },
		})
	}
	if transactions[false] >= transactions[true] {
		t.Errorf("%d transactions where nobody waits, %d where somebody does", transactions[false], transactions[true])
	}
}
