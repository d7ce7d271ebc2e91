package cli

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
)

func TestInterruptsEnd(t *testing.T) {
	ctx := &interrupts{}
	ctx.end()
	if <-ctx.Done(); !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("a context that ended says %v", ctx.Err())
	}
}

// Whoever looks at the context, or at one that was made from it, learns of a
// signal.
func TestInterruptsHeedSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot interrupt itself there")
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]func(context.Context) context.Context{
		"done":  func(ctx context.Context) context.Context { _ = ctx.Done(); return ctx },
		"err":   func(ctx context.Context) context.Context { _ = ctx.Err(); return ctx },
		"value": func(ctx context.Context) context.Context { _ = ctx.Value("any"); return ctx },
		"child": func(ctx context.Context) context.Context {
			child, cancel := context.WithCancel(ctx)
			t.Cleanup(cancel)
			return child
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := &interrupts{}
			defer ctx.end()
			looked := look(ctx)
			// Were it not heeded yet, this would end the tests.
			if err := self.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			<-looked.Done()
			if !errors.Is(looked.Err(), context.Canceled) || context.Cause(looked) == nil {
				t.Errorf("after it: %v, because of %v", looked.Err(), context.Cause(looked))
			}
		})
	}
}
