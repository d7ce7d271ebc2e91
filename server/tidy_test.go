package server_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

// What tidies up after a large import is not done for a small one, which it
// would make everybody pay for.
func TestOnlyLargeImportsAreTidied(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	p := servertest.Join(t, s, "ada")
	var merges atomic.Int64
	s.DB().Watch(func(text string) {
		if strings.Contains(text, "'merge'") {
			merges.Add(1)
		}
	})
	defer s.DB().Watch(nil)
	for _, rows := range []int{1, 2000} {
		var file strings.Builder
		for i := range rows {
			_, _ = fmt.Fprintf(&file, "<DT><A HREF=\"https://a.example/%d/%d\">a</A>\n", rows, i)
		}
		must[api.ImportSummary](t)(p.Key.Import(t.Context(), client.InWorkspace(p.Workspace.ID), "a.html", strings.NewReader(file.String()), ""))
		if tidied := merges.Load() > 0; tidied != (rows > 1) {
			t.Errorf("after %d rows: tidied %v", rows, tidied)
		}
	}
}
