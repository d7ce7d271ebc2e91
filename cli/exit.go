package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/output"
	"bm/daemon/control"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/client"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitSignIn      = 4
	exitConflict    = 5
	exitPartly      = 6
	exitOffline     = 7
	exitBrake       = 8
	exitInterrupted = 130
)

const exitCodes = `Exit codes:
  0  done                    5  conflict or duplicate
  1  failed                  6  partly done
  2  wrong usage             7  offline
  3  not found               8  refused by a safety brake
  4  sign in first         130  interrupted`

var kindCodes = map[app.Kind]int{
	app.Failed: exitFailed, app.Usage: exitUsage, app.NotFound: exitNotFound, app.SignIn: exitSignIn,
	app.Conflict: exitConflict, app.Partly: exitPartly, app.Offline: exitOffline, app.Brake: exitBrake,
	app.Interrupted: exitInterrupted,
}

// kindOf is the kind of a code of the contract; what has none here just failed.
var kindOf = map[api.Code]app.Kind{
	api.CodeValidation:           app.Usage,
	api.CodeUnauthorized:         app.SignIn,
	api.CodeSecondFactorRequired: app.SignIn,
	api.CodeConsentRequired:      app.SignIn,
	api.CodeNotFound:             app.NotFound,
	api.CodeGone:                 app.NotFound,
	api.CodeConflict:             app.Conflict,
	api.CodePreconditionFailed:   app.Conflict,
	api.CodeResetRequired:        app.Conflict,
	api.CodePayloadTooLarge:      app.Usage,
	api.CodeUnavailable:          app.Offline,
}

// explain turns any error into what a person is told and the kind that decides
// the exit code. It is the only place that does.
func explain(err error) *app.Error {
	if errors.Is(err, output.ErrInterrupted) { // whatever the question was about
		return app.Fail(app.Interrupted, "Interrupted before an answer. Nothing was changed.").Because(err)
	}
	if e, ok := errors.AsType[*app.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*output.NoFields](err); ok {
		return app.Fail(app.Usage, "%s", e.Error())
	}
	if e, ok := errors.AsType[*output.BadFormat](err); ok {
		told := app.Fail(app.Usage, "%s", output.Sentence(e.Error()))
		if near := config.Nearest(e.Wrong, e.Known); e.Wrong != "" && near != "" {
			return told.Try("%s   if that was meant", near)
		}
		return told
	}
	if e, ok := errors.AsType[*client.Unreachable](err); ok {
		return app.Fail(app.Offline, "%s", output.Sentence(e.Error())).Try("bm doctor   looks into it").Because(err)
	}
	if e, ok := errors.AsType[*localstore.NotEditableError](err); ok {
		return app.Fail(app.Failed, "%s", output.Sentence(output.CleanText(e.Error()))).
			Try("--workspace NAME, or bm workspace use NAME, for another; bm export --workspace %s FILE keeps what is in this one", app.Typed(e.Slug)).Because(err)
	}
	if e, ok := errors.AsType[*api.Error](err); ok {
		return explainCode(e)
	}
	if e, ok := errors.AsType[*localstore.ReadOnlyError](err); ok {
		return app.Fail(app.Failed, "%s", output.Sentence(e.Error())).Try("%s", e.Remedy).Because(err)
	}
	if e, ok := errors.AsType[*output.Unprinted](err); ok {
		// Before any disk that is full: this one holds the output alone.
		return app.Fail(app.Failed, "The result could not be printed: %v. What the command changed stays changed.", e.Cause()).Because(err)
	}
	switch {
	case errors.Is(err, output.ErrNoAnswer):
		return app.Fail(app.Usage, "There was no answer to the question. Nothing was changed.").
			Try("the command with --help   says how to answer beforehand").Because(err)
	case errors.Is(err, context.Canceled):
		return app.Fail(app.Interrupted, "Interrupted.").Because(err) // what changes something says what it did
	case errors.Is(err, client.ErrInsecure):
		return app.Fail(app.Brake, "The key would go over plain http, readable to anyone on the way.").
			Try("use https, or --insecure-http if you know the network").Because(err)
	case errors.Is(err, credentials.ErrMalformed):
		return app.Fail(app.SignIn, "BM_TOKEN is no API key: %v.", credentials.ErrMalformed).
			Try("another key in BM_TOKEN; or unset it, and bm auth login").Because(err)
	case errors.Is(err, credentials.ErrNoKeyring):
		return app.Fail(app.Failed, "%s", output.Sentence(credentials.Explain(err))).
			Try("--insecure-storage keeps the key in a file that only you can read; or set BM_TOKEN").Because(err)
	case errors.Is(err, control.ErrNotRunning):
		return app.Fail(app.Failed, "The daemon is not running.").Try("bm daemon start").Because(err)
	case errors.Is(err, localstore.ErrBusy):
		return app.Fail(app.Failed, "Another bm command is still changing what is kept here, and this one has to wait for its end.").
			Try("the same command again when that one is done").Because(err)
	case errors.Is(err, localstore.ErrDamaged):
		return app.Fail(app.Failed, "The local copy is damaged.").Try("bm doctor").Because(err)
	case app.DiskFull(err):
		return app.Fail(app.Failed, "The disk is full.").Try("df -h, and free some space").Because(err)
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR), strings.Contains(err.Error(), "readonly database"), strings.Contains(err.Error(), "unable to open database file"):
		return app.Fail(app.Failed, "%s", output.Sentence(app.Plain(err))).Try("bm doctor   checks the folders").Because(err)
	}
	return app.Fail(app.Failed, "%s", output.Sentence(app.Plain(err))).Because(err)
}

// refused says which server and profile it is where all that is known is that a
// key is not accepted: a server can't know what the person who called it has to type.
func refused(a *app.App, err error) error {
	if _, told := errors.AsType[*app.Error](err); told || err == nil {
		return err
	}
	return a.Refused(err)
}

func explainCode(e *api.Error) *app.Error {
	kind, known := kindOf[e.Code]
	if !known {
		kind = app.Failed
	}
	message := output.Sentence(output.CleanText(e.Message))
	details := e.Details
	if len(details) > 0 && strings.HasPrefix(e.Message, details[0].Field+": ") {
		message, details = fault(details[0]), details[1:]
	}
	told := app.Fail(kind, "%s", message).Because(e)
	for _, d := range details {
		if !strings.Contains(e.Message, d.Message) {
			told.Message += "\n  " + fault(d)
		}
	}
	switch e.Code {
	case api.CodeUnauthorized:
		told.Next = "bm auth login"
	case api.CodeRateLimited:
		told.Message, _, _ = strings.Cut(told.Message, ": wait ") // which is what to do next
		told.Message = output.Sentence(told.Message)
		told.Next = "wait a while and try again"
		if e.RetryAfter > 0 {
			told.Next = fmt.Sprintf("wait %s and try again", e.RetryAfter)
		}
	case api.CodeInternal:
		if e.CorrelationID != "" {
			told.Next = "tell the server's owner: correlation id " + output.Clean(e.CorrelationID)
		}
	}
	return told
}

// subjects are the fields of the contract as a person calls them.
var subjects = map[string]string{
	"url": "The URL", "title": "The title", "description": "The description", "tags": "The list of tags", "name": "The name",
	"into": "The tag", "sortBy": "--sort", "filterStatus": "--status",
}

// fault is what is wrong with a field, as a sentence.
func fault(d api.FieldError) string {
	field, message := strings.TrimPrefix(d.Field, "body."), output.Clean(d.Message)
	subject := subjects[field]
	if parameter, found := strings.CutPrefix(field, "query."); found {
		subject = strconv.Quote(output.Clean(parameter))
	}
	if at, found := strings.CutPrefix(field, "tags["); found {
		if n, err := strconv.Atoi(strings.TrimSuffix(at, "]")); err == nil {
			subject = fmt.Sprintf("Tag %d", n+1)
		}
	}
	verb, _, _ := strings.Cut(message, " ")
	switch {
	case slices.Contains([]string{"a", "the", "there"}, verb):
		return output.Sentence(message) // one already
	case subject == "":
		return output.Sentence(output.Clean(d.Field) + ": " + message)
	case slices.Contains([]string{"is", "must", "holds", "cannot", "names"}, verb):
		return output.Sentence(subject + " " + message)
	}
	return output.Sentence(subject + ": " + message)
}

// report tells the failure, and is the exit code.
func report(s *output.Streams, err error) int {
	if err == nil {
		return exitDone
	}
	told := explain(err)
	if !told.Quiet {
		fmt.Fprintln(s.Err, s.Styled(output.Bad, "bm: ")+output.CleanText(told.Message))
		if told.Next != "" {
			fmt.Fprintln(s.Err, s.Styled(output.Faint, "  try: ")+output.CleanText(told.Next))
		}
	}
	return kindCodes[told.Kind]
}
