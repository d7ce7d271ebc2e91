package mirror

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"bm/server/api"
	"bm/server/api/client"
)

func TestBulkWorkTakesHalfOfTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b budget
		began := time.Now()
		take := func(bulk bool, n int) time.Duration {
			t.Helper()
			for range n {
				if err := b.take(t.Context(), 0, bulk); err != nil {
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
		if err := b.take(ctx, 0, true); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		time.Sleep(time.Hour)
		began = time.Now()
		if took := take(true, 300); took != 0 {
			t.Errorf("after an hour's rest it took %v", took)
		}
		if took := take(true, 1); took == 0 {
			t.Error("a rest is made up for by more than a minute's half")
		}
		// However much else was asked for, bulk work waits for no more than a minute.
		take(false, 1000)
		began = time.Now()
		if took := take(true, 1).Round(time.Second); took > time.Minute {
			t.Errorf("it waits %v for what else was asked for", took)
		}
	})
}

// What the server says that it allows is what half is taken of.
func TestBulkWorkGoesByWhatTheServerAllows(t *testing.T) {
	for limit, want := range map[int64]time.Duration{math.MaxInt32: 0, 60: 9 * time.Minute, 6000: 0} {
		synctest.Test(t, func(t *testing.T) {
			var b budget
			began := time.Now()
			for range 300 {
				if err := b.take(t.Context(), limit, true); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began).Round(time.Second); took != want {
				t.Errorf("300 requests at %d a minute took %v, want %v", limit, took, want)
			}
		})
	}
}

// A push that waits for its turn ends with its round.
func TestAPushThatWaitsIsGivenUp(t *testing.T) {
	caller, err := client.New(client.Options{Server: "http://127.0.0.1:1", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p := &Profile{caller: caller, budget: budget{at: time.Now(), tokens: -1000}}
	ctx, cancel := context.WithCancel(t.Context())
	answer := (&remote{Profile: p}).Push(ctx, "w", api.PushRequest{Ops: make([]api.Op, bulkOps)})
	cancel()
	given := make(chan error, 1)
	go func() {
		_, err := answer()
		given <- err
	}()
	select {
	case err := <-given:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits still")
	}
}
