package localstore_test

import (
	"path/filepath"
	"testing"

	"bm/server/api"
)

func TestForgettingMindsUndecidedConflicts(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	conflictAbout(t, s, r, api.TypeBookmark, "x", "title", "the title that I typed", "theirs")
	if err := s.Forget(t.Context(), r, false); api.CodeOf(err) != api.CodeConflict {
		t.Errorf("forgetting an undecided conflict: %v", err)
	}
	if all, err := s.Conflicts(t.Context(), r); err != nil || len(all) != 1 {
		t.Errorf("conflicts %+v, %v", all, err)
	}
	if err := s.Forget(t.Context(), r, true); err != nil {
		t.Error(err)
	}
}

// Pages of a file that are not used any more keep what was in them, and a repair
// knows rows by the number of their workspace.
func TestNoWorkspaceGetsTheNumberOfOneThatIsGone(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	given := map[int64]bool{}
	for _, workspace := range []string{"one", "two", "three"} {
		r := mirror(t, s, workspace)
		if given[r] {
			t.Errorf("%q has the number of one that was forgotten", workspace)
		}
		given[r] = true
		if err := s.Forget(t.Context(), r, false); err != nil {
			t.Fatal(err)
		}
	}
	known := mirror(t, s, "known")
	local, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Attach(t.Context(), api.Workspace{ID: "known", Name: "known"}); err != nil {
		t.Fatal(err)
	}
	if r := mirror(t, s, "four"); given[r] || r == local.N || r == known {
		t.Errorf("a workspace has the number %d of another, or of what was local", r)
	}
}
