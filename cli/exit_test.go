package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

// What ends a command is told by what it was, not by who ran into it.
func TestExplain(t *testing.T) {
	full := fmt.Errorf("write: %w", syscall.ENOSPC)
	for _, test := range []struct {
		err  error
		kind app.Kind
		says string
	}{
		{app.Fail(app.Usage, "There is no password.").Because(output.ErrInterrupted), app.Interrupted, "Interrupted before an answer. Nothing was changed."},
		{fmt.Errorf("ask: %w", output.ErrNoAnswer), app.Usage, "There was no answer to the question. Nothing was changed."},
		{fmt.Errorf("list: %w", context.Canceled), app.Interrupted, "Interrupted."}, // nobody here knows what was done
		{fmt.Errorf("read the settings: %w", &fs.PathError{Op: "stat", Path: "/a/b.toml", Err: syscall.EIO}), app.Failed, "Can't read the settings: /a/b.toml: input/output error."},
		{fmt.Errorf("write out.html: %w", &fs.PathError{Op: "open", Path: ".bm-export-1", Err: syscall.EIO}), app.Failed, "Can't write out.html: input/output error."},
		{full, app.Failed, "The disk is full."},
		{errors.New("open the local copy: disk I/O error (4874)"), app.Failed, "The disk is full."}, // no room for the file beside it
		{fmt.Errorf("export: %w", &output.Unprinted{Err: full}), app.Failed, "The result could not be printed: write: no space left on device. What the command changed stays changed."},
		{fmt.Errorf("undo: %w", localstore.ErrBusy), app.Failed, "Another bm command is still changing what is kept here, and this one has to wait for its end."},
		{api.Invalid("parentId", "the tree would be deeper than %d levels", 9), app.Usage, "The tree would be deeper than 9 levels."},
		{api.Invalid("into", "a tag must not be empty"), app.Usage, "A tag must not be empty."},
		{api.Invalid("sortBy", "must be one of a, b"), app.Usage, "--sort must be one of a, b."},
		{api.InvalidFields([]api.FieldError{{Field: "tags[2]", Message: "is longer"}, {Field: "body.url", Message: "is not an absolute URL"}}), app.Usage, "Tag 3 is longer.\n  The URL is not an absolute URL."},
		{api.Invalid("extra.X", "is odd"), app.Usage, "Extra.X: is odd."},
	} {
		if told := explain(test.err); told.Kind != test.kind || told.Message != test.says {
			t.Errorf("%v: %d %q, want %d %q", test.err, told.Kind, told.Message, test.kind, test.says)
		}
	}
}
