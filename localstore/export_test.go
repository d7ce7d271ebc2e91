package localstore

import (
	"strconv"
	"testing"
)

// SetSchemaVersion makes a file look as if another version had written it.
func SetSchemaVersion(t *testing.T, s *Store, version int) {
	t.Helper()
	err := s.write(t.Context(), durable, func(tx *tx) error {
		return tx.script("PRAGMA user_version = " + strconv.Itoa(version))
	})
	if err != nil {
		t.Fatal(err)
	}
}
