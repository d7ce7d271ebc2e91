package mirror

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBulkWorkTakesHalfOfTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b budget
		began := time.Now()
		take := func(bulk bool, n int) time.Duration {
			t.Helper()
			for range n {
				if err := b.take(t.Context(), bulk); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(began)
		}
		if took := take(true, 300); took != 0 {
			t.Errorf("the first minute's half took %v", took)
		}
		if took := take(true, 300).Round(time.Second); took != time.Minute {
			t.Errorf("the second took until %v", took)
		}
		// What is no bulk work waits for nothing, and is made up for.
		if took := take(false, 50).Round(time.Second); took != time.Minute {
			t.Errorf("small requests waited until %v", took)
		}
		if took := take(true, 1).Round(time.Second); took < 70*time.Second {
			t.Errorf("bulk work went on at %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.take(ctx, true); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		time.Sleep(time.Hour)
		began = time.Now()
		if took := take(true, 300); took != 0 {
			t.Errorf("after an hour's rest it took %v", took)
		}
	})
}
