package app_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"bm/localstore"
)

// A command waits for the end of one that holds the local copy, and what it has
// begun itself is not done twice.
func TestACommandWaitsForItsTurn(t *testing.T) {
	busy := fmt.Errorf("write to the local copy: %w", localstore.ErrBusy)
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		begins  int // the try with which it is at it
		answers []error
		want    error
	}{
		"at once":               {1, []error{nil}, nil},
		"the third time":        {3, []error{busy, busy, nil}, nil},
		"it fails":              {2, []error{busy, failed}, failed},
		"it is busy half-way":   {1, []error{busy}, localstore.ErrBusy},
		"it fails before begun": {0, []error{failed}, failed},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			err := newApp(t, map[string]string{}).InTurn(t.Context(), func(begun func()) error {
				if tries++; tries == test.begins {
					begun()
				}
				return test.answers[tries-1]
			})
			if !errors.Is(err, test.want) || tries != len(test.answers) {
				t.Errorf("%v after %d tries", err, tries)
			}
		})
	}
	t.Run("nobody waits any more", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := newApp(t, map[string]string{}).InTurn(ctx, func(func()) error { return busy }); !errors.Is(err, localstore.ErrBusy) {
			t.Error(err)
		}
	})
}
