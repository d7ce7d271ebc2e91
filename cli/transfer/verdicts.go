package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
)

// verdicts shows what becomes of each bookmark in a dry run, and writes those
// that can't be kept where they were asked for.
type verdicts struct {
	table *output.Table
	// there is the bookmark that one was found to be.
	there  func(id string) (localstore.Bookmark, error)
	failed error // to show one

	path    string // of the rejects
	file    *os.File
	rejects *exchange.Rejects
}

func (o *importOptions) verdicts() (*verdicts, error) {
	v := &verdicts{path: o.rejects}
	wanted, err := o.format.Wanted()
	if err != nil {
		return nil, err
	}
	if o.dryRun && !wanted {
		s := o.app.IO
		v.table = s.NewTable(s.Out, output.Heading{Name: "verdict"}, output.Heading{Name: "line", Right: true, Spare: 3},
			output.Heading{Name: "title", Flexible: true}, output.Heading{Name: "url", Flexible: true, Spare: 2},
			output.Heading{Name: "why", Flexible: true, Spare: 1})
	}
	if o.rejects == "-" && (o.dryRun || wanted) {
		return nil, app.Fail(app.Usage, "The standard output has the result already.").Try("--rejects FILE")
	}
	if o.rejects == "" || o.rejects == "-" {
		return v, nil
	}
	if info, err := os.Stat(o.rejects); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		return nil, app.Fail(app.Conflict, "There is a file %s already.", output.Clean(o.rejects)).Try("--rejects with another name")
	}
	if v.file, err = os.OpenFile(o.rejects, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err != nil {
		return nil, app.Fail(app.Failed, "The rejects can't be written to %s: %s.", output.Clean(o.rejects), reason(err)).Because(err)
	}
	return v, nil
}

// begin has the verdicts be on a file that is read.
func (o *importOptions) begin(v *verdicts, reader *exchange.Reader) {
	switch {
	case o.rejects == "":
	case v.file == nil:
		v.rejects = reader.Rejects(o.app.IO.Whole())
	default:
		v.rejects = reader.Rejects(v.file)
	}
}

func (v *verdicts) take(step exchange.Step) {
	if v.rejects != nil {
		v.rejects.Take(step)
	}
	if v.table == nil || v.failed != nil || step.Kind != exchange.Bookmark {
		return
	}
	title, url, why := step.Bookmark.Title.Value, step.Bookmark.URL.Value, ""
	if step.Verdict == exchange.Duplicate || step.Verdict == exchange.Changed {
		// The step tells only what they were looked for by, which is no URL.
		found, err := v.there(step.ID)
		if err != nil {
			v.failed = err
			return
		}
		title, url = found.Title, found.URL
	}
	if step.Verdict == exchange.Changed {
		list := app.TagList(step.Bookmark.Tags.Value)
		why = "its tags become " + list.String()
	}
	if len(step.Issues) > 0 {
		title, url, why = step.Issues[0].Title, step.Issues[0].URL, step.Issues[0].Message
	}
	line := ""
	if step.Line > 0 {
		line = strconv.Itoa(step.Line)
	}
	v.failed = v.table.Row(output.Text(step.Verdict.String()), output.Styled(output.Faint, line),
		output.Styled(output.Strong, title), output.Styled(output.Link, url), output.Text(why))
}

func (v *verdicts) end() error {
	shown := v.failed
	if v.table != nil && shown == nil {
		shown = v.table.End()
	}
	if v.rejects == nil && v.file == nil {
		return shown
	}
	var err error
	if v.rejects != nil {
		err = v.rejects.Close()
	}
	where := "printed"
	if v.file != nil {
		info, unseen := v.file.Stat()
		err, where = errors.Join(err, v.file.Close()), "written to "+output.Clean(v.path)
		if unseen == nil && info.Mode().IsRegular() && info.Size() == 0 {
			err = errors.Join(err, os.Remove(v.path)) // nothing was rejected
		}
	}
	if err != nil {
		return app.Fail(app.Failed, "The rejects could not all be %s: %s. What was imported stays.", where, reason(err)).Because(err)
	}
	return shown
}

// reason is what the system says of a file, without the path and what was
// being done to it.
func reason(err error) string {
	if unprinted, ok := errors.AsType[*output.Unprinted](err); ok {
		return unprinted.Cause().Error()
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// show shows the counts, which add up to the bookmarks in the file, and what
// was not kept as it stood. Of an import that was cut off, the outcome tells.
func (o *importOptions) show(found counts, failed error) error {
	s := o.app.IO
	wanted, err := o.format.Wanted()
	if err != nil {
		return err
	}
	if wanted {
		return o.format.One(s.Out, s, found)
	}
	if _, broken := errors.AsType[*exchange.SyntaxError](failed); failed != nil && !broken {
		return nil
	}
	did, got := "Imported", "got"
	if o.dryRun {
		did, got = "Would import", "would get"
	}
	tagged := ""
	if found.Tagged > 0 {
		tagged = fmt.Sprintf(" (%d of them %s tags)", found.Tagged, got)
	}
	fmt.Fprintf(s.Err, "%s %s; %d there already%s, %d can't be kept.\n",
		did, output.Plural(found.Imported, "bookmark"), found.DuplicatesSkipped, tagged, found.Skipped)
	if o.dryRun {
		return nil
	}
	o.tell("not kept", "errors", found.Errors, found.Skipped)
	o.tell("note", "issues", found.Issues, found.Noted)
	return nil
}

// tell tells the first of what was not kept as it stood, of which there are so
// many in all.
func (o *importOptions) tell(what, field string, issues []api.ImportSummaryIssue, all int) {
	s := o.app.IO
	for i, issue := range issues {
		if i == maxTold {
			has := "all of them"
			if all > len(issues) {
				has = fmt.Sprintf("the first %d", len(issues))
			}
			fmt.Fprintf(s.Err, "  … and %d more; --json %s has %s\n", all-maxTold, field, has)
			return
		}
		which := ""
		if name := short(issue); name != "" {
			which = " (" + output.Clean(name) + ")"
		}
		fmt.Fprintf(s.Err, "  line %d, %s: %s%s\n", issue.Line, what, output.Clean(issue.Message), which)
	}
}

// maxTold is how many issues of a kind are told one by one.
const maxTold = 10

// short names the bookmark that an issue is about.
func short(issue api.ImportSummaryIssue) string {
	name := issue.Title
	if name == "" {
		name = issue.URL
	}
	if runes := []rune(name); len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return name
}

func (o *importOptions) outcome(found counts, failed error) error {
	if errors.Is(failed, context.Canceled) && !o.dryRun {
		return app.Fail(app.Interrupted, "Interrupted: %s kept so far.", output.Plural(found.Imported, "bookmark")).
			Try("the same command again goes on, and adds nothing twice").Because(failed)
	}
	if broken, ok := errors.AsType[*exchange.SyntaxError](failed); ok {
		kind := app.Failed
		if found.Imported > 0 {
			kind = app.Partly
		}
		return app.Fail(kind, "The file can't be read on after line %d: %v.", broken.Line, broken.Err).
			Try("%s", o.mended()).Because(failed)
	}
	if failed != nil && app.DiskFull(failed) && found.Imported+found.Tagged > 0 {
		return app.Fail(app.Failed, "The disk is full: %s kept so far.", output.Plural(found.Imported, "bookmark")).
			Try("free some space (df -h) and run it again: nothing is added twice").Because(failed)
	}
	if errors.Is(failed, localstore.ErrBusy) && found.Imported+found.Tagged > 0 {
		return app.Fail(app.Failed, "Another bm command is changing many bookmarks: %s kept so far.", output.Plural(found.Imported, "bookmark")).
			Try("the same command again when that one is done: nothing is added twice").Because(failed)
	}
	if failed != nil {
		return failed
	}
	if found.Skipped == 0 {
		return nil
	}
	partly := app.Fail(app.Partly, "%s can't be kept.", output.Plural(found.Skipped, "bookmark"))
	switch {
	case o.rejects == "":
		return partly.Try("--rejects FILE writes them down")
	case o.rejects == "-" || o.dryRun:
		return partly
	}
	return partly.Try("%s   once they are mended in there", o.again())
}
