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
