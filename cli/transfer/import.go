package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
)

type importOptions struct {
	app     *app.App
	format  *output.Format[api.ImportSummary]
	file    string
	folder  string
	dryRun  bool
	rejects string
}

// ImportFile imports a file as the command does, for a command that begins
// with it.
func ImportFile(ctx context.Context, a *app.App, file string) error {
	o := newImportOptions(a)
	o.file = file
	return runImport(ctx, o)
}

func newImportOptions(a *app.App) *importOptions {
	type field = output.Field[api.ImportSummary]
	return &importOptions{app: a, format: &output.Format[api.ImportSummary]{Fields: []field{
		{Name: "imported", Get: func(s api.ImportSummary) any { return s.Imported }},
		{Name: "skipped", Get: func(s api.ImportSummary) any { return s.Skipped }},
		{Name: "duplicatesSkipped", Get: func(s api.ImportSummary) any { return s.DuplicatesSkipped }},
		{Name: "errors", Get: func(s api.ImportSummary) any { return s.Errors }},
		{Name: "issues", Get: func(s api.ImportSummary) any { return s.Issues }},
	}}}
}

func newImport(a *app.App) *cobra.Command {
	o := newImportOptions(a)
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Bring a browser's or another service's bookmarks along",
		Long: `Bring a browser's or another service's bookmarks along, from a file that it
exported; - is the standard input. The format is told by the content: the HTML
that every browser writes, bm's own JSON, and what Firefox, Chrome and Pinboard
keep as JSON. Needs no network.

Folders, order, dates, tags and descriptions are kept. What is there already is
not added again: running it twice, or again after it was cut off, adds nothing
twice. One bm undo takes the whole import back.`,
		Example: `  bm import bookmarks.html
  bm import bookmarks.html --dry-run
  bm import export.json --folder Old/Browser --rejects rejects.jsonl
  gunzip -c bookmarks.json.gz | bm import -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			return runImport(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.folder, "folder", "f", "", "into the `folder`, made where there is none")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only say what would become of each bookmark")
	flags.StringVar(&o.rejects, "rejects", "", "write what can't be kept into a `file`, a line of JSON each")
	_ = cmd.RegisterFlagCompletionFunc("folder", a.CompleteFolders)
	o.format.Bind(cmd)
	return cmd
}

func runImport(ctx context.Context, o *importOptions) (err error) {
	if _, err := o.format.Wanted(); err != nil {
		return err
	}
	input, err := o.open()
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }() // it was only read
	reader, err := exchange.NewReader(input)
	if errors.Is(err, exchange.ErrUnknownFormat) {
		return app.Fail(app.Usage, "%s is no file of bookmarks in a format that bm knows.", output.Clean(o.file)).
			Try("bm import --help   lists them").Because(err)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", o.file, err)
	}
	store, replica, err := o.app.Replica(ctx)
	if err != nil {
		return err
	}
	into, err := o.into(ctx, store, replica.N)
	if err != nil {
		return err
	}
	verdicts, err := o.verdicts()
	if err != nil {
		return err
	}
	progress := o.app.IO.Begin("Importing", "bookmarks", 0)
	summary, failed := store.Import(ctx, reader, localstore.Import{
		Replica: replica.N, Into: into, Command: "import " + filepath.Base(o.file),
		DryRun: o.dryRun, Step: verdicts.take, Progress: progress.Set,
	})
	progress.End()
	if err := verdicts.end(); err != nil {
		return errors.Join(failed, err)
	}
	if !o.dryRun && summary.Imported > 0 {
		o.app.Edited(ctx)
	}
	if err := o.show(summary); err != nil {
		return errors.Join(failed, err)
	}
	return o.outcome(summary, failed)
}

func (o *importOptions) open() (io.ReadCloser, error) {
	if o.file == "-" {
		return io.NopCloser(o.app.IO.In), nil
	}
	file, err := os.Open(o.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, app.Fail(app.NotFound, "There is no file %s.", output.Clean(o.file)).Because(err)
	}
	return file, err
}

// into is the id of the folder that receives the file. A dry run into a folder
// that isn't there yet is one into the top: nothing is there either way.
func (o *importOptions) into(ctx context.Context, store *localstore.Store, replica int64) (string, error) {
	if o.folder == "" || o.folder == "/" {
		return "", nil
	}
	folder, err := store.FindFolder(ctx, replica, o.folder)
	if err == nil || api.CodeOf(err) != api.CodeNotFound {
		return folder.ID, err
	}
	if o.dryRun {
		return "", app.Fail(app.NotFound, "There is no folder %q yet: everything would be new in it.", output.Clean(o.folder)).
			Try("the same command without --folder, or without --dry-run").Because(err)
	}
	err = store.Edit(ctx, replica, "folder add "+o.folder, func(ed *localstore.Editor) error {
		folder, err = ed.FolderAt(o.folder)
		return err
	})
	return folder.ID, err
}

// verdicts shows what becomes of each bookmark in a dry run, and writes those
// that can't be kept where they were asked for.
type verdicts struct {
	table   *output.Table
	rejects *os.File
	lines   *bufio.Writer
	failed  error
}

func (o *importOptions) verdicts() (*verdicts, error) {
	v := &verdicts{}
	wanted, err := o.format.Wanted()
	if err != nil {
		return nil, err
	}
	if o.dryRun && !wanted {
		s := o.app.IO
		v.table = s.NewTable(s.Out, output.Heading{Name: "verdict"}, output.Heading{Name: "line", Right: true},
			output.Heading{Name: "title", Flexible: true}, output.Heading{Name: "url", Flexible: true}, output.Heading{Name: "why", Flexible: true})
	}
	if o.rejects != "" {
		if v.rejects, err = os.OpenFile(o.rejects, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err != nil {
			return nil, fmt.Errorf("write the rejects: %w", err)
		}
		v.lines = bufio.NewWriter(v.rejects)
	}
	return v, nil
}

func (v *verdicts) take(step exchange.Step) {
	if step.Kind != exchange.Bookmark || v.failed != nil {
		return
	}
	if v.lines != nil && step.Verdict == exchange.Rejected {
		for _, issue := range step.Issues {
			line, err := json.Marshal(issue)
			if err == nil {
				_, err = v.lines.Write(append(line, '\n'))
			}
			if err != nil {
				v.failed = err
			}
		}
	}
	if v.table == nil {
		return
	}
	title, url, why := step.Bookmark.Title.Value, step.Bookmark.URL.Value, ""
	if step.Verdict != exchange.New {
		title, url = step.Key.Title, step.Key.URL
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
	errs := []error{v.failed}
	if v.table != nil {
		errs = append(errs, v.table.End())
	}
	if v.rejects != nil {
		errs = append(errs, v.lines.Flush(), v.rejects.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write what became of the bookmarks: %w", err)
	}
	return nil
}

// show shows the counts, which add up to the bookmarks in the file, and what
// was not kept as it stood.
func (o *importOptions) show(summary api.ImportSummary) error {
	s := o.app.IO
	wanted, err := o.format.Wanted()
	if err != nil {
		return err
	}
	if wanted {
		return o.format.One(s.Out, s, summary)
	}
	did := "Imported"
	if o.dryRun {
		did = "Would import"
	}
	fmt.Fprintf(s.Err, "%s %s; %d there already, %d can't be kept.\n", did, output.Plural(summary.Imported, "bookmark"), summary.DuplicatesSkipped, summary.Skipped)
	if o.dryRun {
		return nil
	}
	for _, list := range []struct {
		what   string
		issues []api.ImportSummaryIssue
	}{{"not kept", summary.Errors}, {"changed", summary.Issues}} {
		for i, issue := range list.issues {
			if i == maxTold {
				fmt.Fprintf(s.Err, "  … and %d more; --json errors,issues has all of them\n", len(list.issues)-maxTold)
				break
			}
			fmt.Fprintf(s.Err, "  line %d, %s: %s (%s)\n", issue.Line, list.what, output.Clean(issue.Message), output.Clean(short(issue)))
		}
	}
	return nil
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

func (o *importOptions) outcome(summary api.ImportSummary, failed error) error {
	if errors.Is(failed, context.Canceled) {
		return app.Fail(app.Interrupted, "Interrupted: %s kept so far.", output.Plural(summary.Imported, "bookmark")).
			Try("the same command again goes on, and adds nothing twice").Because(failed)
	}
	if broken, ok := errors.AsType[*exchange.SyntaxError](failed); ok {
		kind := app.Failed
		if summary.Imported > 0 {
			kind = app.Partly
		}
		return app.Fail(kind, "The file can't be read on after line %d: %v.", broken.Line, broken.Err).
			Try("mend the file and run it again: nothing is added twice").Because(failed)
	}
	if failed != nil {
		return failed
	}
	if summary.Skipped > 0 {
		return app.Fail(app.Partly, "%s can't be kept.", output.Plural(summary.Skipped, "bookmark")).
			Try("--rejects FILE writes them down")
	}
	return nil
}
