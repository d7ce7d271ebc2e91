package transfer

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
)

// counts are what became of a file.
type counts struct {
	api.ImportSummary
	// Tagged are those of DuplicatesSkipped that gained tags.
	Tagged int
	// Noted is how many issues there are, of which a summary lists the first.
	Noted int
}

func (c *counts) bookmarks() int { return c.Imported + c.DuplicatesSkipped + c.Skipped }

type importOptions struct {
	app     *app.App
	format  *output.Format[counts]
	file    string
	from    string // the browser that is read instead of a file
	folder  string
	filed   bool // --folder was given
	dryRun  bool
	rejects string
	strip   bool // tracking parameters
	verify  bool

	verification *verification // nil if none is wanted
}

// ImportFile imports a file as the command does, for a command that begins
// with it.
func ImportFile(ctx context.Context, a *app.App, file string) error {
	o := newImportOptions(a)
	o.file = file
	return runImport(ctx, o)
}

func newImportOptions(a *app.App) *importOptions {
	type field = output.Field[counts]
	return &importOptions{app: a, format: &output.Format[counts]{Fields: []field{
		{Name: "imported", Get: func(c counts) any { return c.Imported }},
		{Name: "skipped", Get: func(c counts) any { return c.Skipped }},
		{Name: "duplicatesSkipped", Get: func(c counts) any { return c.DuplicatesSkipped }},
		{Name: "tagged", Get: func(c counts) any { return c.Tagged }},
		{Name: "errors", Get: func(c counts) any { return c.Errors }},
		{Name: "issues", Get: func(c counts) any { return c.Issues }},
	}}}
}

func newImport(a *app.App) *cobra.Command {
	o := newImportOptions(a)
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Bring a browser's or another service's bookmarks along",
		Long: `Bring a browser's or another service's bookmarks along, from a file that it
exported; - is the standard input. With --from they are read where the browser
keeps them, which may run meanwhile; nothing is changed there. Needs no network.

The format is told by the content:

  HTML      of every browser, Pinboard, Pocket, Raindrop, linkding, Shaarli …
  JSON      of Firefox (.jsonlz4 too), Chrome and its kin, Pinboard, Karakeep,
            Linkwarden, and bm's own
  CSV       of Pocket, Raindrop, Instapaper, bm's own, and any table whose
            header has a column url
  XML       XBEL, OPML, Pinboard, Delicious, and Safari's Bookmarks.plist

Folders, order, dates, tags and descriptions are kept. A bookmark that is in the
same folder already, as often as in the file, is not added again and only gains
tags: running it twice, or again after it was cut off, adds nothing. What you
moved, united or deleted since would come again. What can't be kept is told with
its line; --rejects writes it into a file of the same format, to be mended and
imported. One bm undo takes the whole import back.

A date is in seconds, milli-, micro- or nanoseconds, or written such as 2026-01-31
or 2026-01-31T12:00:00Z.`,
		Example: `  bm import bookmarks.html
  bm import --from firefox
  bm import --from chrome:Work --dry-run
  bm import bookmarks.html --verify
  bm import export.json --folder Old/Browser --rejects rejects.json
  gunzip -c bookmarks.json.gz | bm import -`,
		Args: o.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.filed = cmd.Flags().Changed("folder")
			if len(args) > 0 {
				o.file = args[0]
			}
			return runImport(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.folder, "folder", "f", "", "into the `folder`, made where there is none")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only say what would become of each bookmark")
	flags.StringVar(&o.rejects, "rejects", "", "write what can't be kept into a `file` of the same format, to be mended and imported; - is the standard output")
	flags.BoolVar(&o.strip, "strip-tracking", false, "take parameters such as utm_source from the URLs, and heed none in those that are there")
	flags.BoolVar(&o.verify, "verify", false, "export what was imported and compare that with the file")
	_ = cmd.RegisterFlagCompletionFunc("folder", a.CompleteFolders)
	o.bindFrom(cmd)
	o.format.Bind(cmd)
	return cmd
}

func runImport(ctx context.Context, o *importOptions) (err error) {
	if _, err := o.format.Wanted(); err != nil {
		return err
	}
	if o.verify && o.dryRun {
		return app.Fail(app.Usage, "--verify compares what was imported, and --dry-run imports nothing.")
	}
	if o.verify {
		o.verification = &verification{seed: maphash.MakeSeed(), stripped: o.strip}
	}
	input, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }() // it was only read
	var options []exchange.Option
	if o.rejects != "" {
		options = append(options, exchange.KeepRaw)
	}
	reader, err := exchange.NewReader(input, options...)
	if errors.Is(err, exchange.ErrCompressed) {
		return app.Fail(app.Usage, "%s is compressed.", o.source()).
			Try("gunzip -c FILE.gz | bm import -   or unzip -p FILE.zip | bm import -").Because(err)
	}
	if errors.Is(err, exchange.ErrUnknownFormat) {
		return app.Fail(app.Usage, "%s is no file of bookmarks in a format that bm knows.", o.source()).
			Try("bm import --help   lists them; bm add < FILE takes a list of URLs").Because(err)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", o.source(), err)
	}
	defer func() { _ = reader.Close() }()
	store, replica, err := o.app.Replica(ctx)
	if err != nil {
		return err
	}
	verdicts, err := o.verdicts()
	if err != nil {
		return err
	}
	o.begin(verdicts, reader)
	verdicts.there = func(id string) (localstore.Bookmark, error) { return store.Bookmark(ctx, replica.N, id) }
	release := func() error { return nil }
	if !o.dryRun {
		if release, err = o.alone(ctx); err != nil {
			return errors.Join(err, verdicts.end())
		}
	}
	var found counts
	failed := o.turn(ctx, store, replica)
	if failed == nil {
		found, failed = o.read(ctx, store, replica.N, reader, input, verdicts)
	}
	if err := release(); failed == nil {
		failed = err
	}
	if !o.dryRun && found.Imported+found.Tagged > 0 {
		o.app.Edited(ctx)
	}
	if err := verdicts.end(); err != nil {
		return errors.Join(failed, err)
	}
	if err := o.show(found, failed); err != nil {
		return errors.Join(failed, err)
	}
	if o.verification != nil && failed == nil {
		if err := o.verified(ctx, store, replica.N); err != nil {
			return err
		}
	}
	return o.outcome(found, failed)
}

// alone waits until no other import into this profile runs: two of one file at
// once would find nothing there, each of them, and keep all of it twice.
func (o *importOptions) alone(ctx context.Context) (release func() error, err error) {
	c, err := o.app.Config()
	if err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(c.Folders.ProfileData(c.ProfileName()), "import.lock"))
	first, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("keep what is imported: %w", err)
	}
	if !first {
		fmt.Fprintln(o.app.IO.Err, "Another import runs: this one waits for it.")
		if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
			return nil, fmt.Errorf("wait for another import: %w", err)
		}
	}
	return lock.Unlock, nil
}

// turn waits for a command that changes many bookmarks just now.
func (o *importOptions) turn(ctx context.Context, store *localstore.Store, replica *localstore.Replica) error {
	if o.dryRun {
		return nil
	}
	return o.app.AwaitTurn(ctx, store, replica)
}

// read takes the file in, or only decides on it.
func (o *importOptions) read(ctx context.Context, store *localstore.Store, replica int64, reader *exchange.Reader, input *input, verdicts *verdicts) (counts, error) {
	into, err := o.into(ctx, store, replica)
	if err != nil {
		return counts{}, err
	}
	if len(into.Missing) > 0 && o.dryRun {
		summary, err := o.plan(ctx, reader, into.Depth, verdicts.take)
		return counts{ImportSummary: summary}, err
	}
	progress := o.app.IO.Begin("Importing", "bookmarks", 0)
	defer progress.End()
	if input.size > 0 {
		progress.Share(input.share)
	}
	var decided, kept counts // what is decided is kept with its transaction
	summary, err := store.Import(ctx, reader, localstore.Import{
		Replica: replica, Into: into.Folder.ID, Make: making(into), StripTracking: o.strip, Command: "import " + o.named(), DryRun: o.dryRun,
		Step: func(step exchange.Step) {
			decided.add(step)
			verdicts.take(step)
			if o.verification != nil {
				o.verification.take(step)
			}
		},
		Progress: func(int) {
			kept = decided
			progress.Set(kept.bookmarks())
		},
	})
	if _, broken := errors.AsType[*exchange.SyntaxError](err); err != nil && !broken {
		kept.Errors, kept.Issues = summary.Errors, summary.Issues
		return kept, err
	}
	return counts{ImportSummary: summary, Tagged: decided.Tagged, Noted: decided.Noted}, err
}

// add counts a step.
func (c *counts) add(step exchange.Step) {
	if step.Verdict != exchange.Rejected {
		c.Noted += len(step.Issues)
	}
	if step.Kind != exchange.Bookmark {
		return
	}
	switch step.Verdict {
	case exchange.New:
		c.Imported++
	case exchange.Duplicate:
		c.DuplicatesSkipped++
	case exchange.Changed:
		c.DuplicatesSkipped++
		c.Tagged++
	case exchange.Rejected:
		c.Skipped++
	}
}

// input is the file that is read, and how far.
type input struct {
	io.ReadCloser
	file *os.File // nil for what can be read but once, such as a pipe
	size int64    // 0 where it is not known
	done atomic.Int64
}

func (i *input) Read(p []byte) (int, error) {
	n, err := i.ReadCloser.Read(p)
	i.done.Add(int64(n))
	return n, err
}

// ReadAt and Seek are for a format that is read twice.
func (i *input) ReadAt(p []byte, at int64) (int, error) {
	if i.file == nil {
		return 0, errors.ErrUnsupported
	}
	n, err := i.file.ReadAt(p, at)
	i.done.Store(at + int64(n))
	return n, err
}

func (i *input) Seek(offset int64, whence int) (int64, error) {
	if i.file == nil {
		return 0, errors.ErrUnsupported
	}
	return i.file.Seek(offset, whence)
}

func (i *input) share() float64 { return float64(i.done.Load()) / float64(i.size) }

// source is what is read, as a person calls it.
func (o *importOptions) source() string {
	switch {
	case o.from != "":
		return output.Clean(o.from)
	case o.file == "-":
		return "The standard input"
	}
	return output.Clean(o.file)
}

// named is what is read, as the log calls it.
func (o *importOptions) named() string {
	if o.from != "" {
		return "--from " + app.Typed(o.from)
	}
	return filepath.Base(o.file)
}

func (o *importOptions) open(ctx context.Context) (*input, error) {
	if o.from != "" {
		return o.openBrowser(ctx)
	}
	if o.file == "-" {
		return &input{ReadCloser: io.NopCloser(o.app.IO.In)}, nil
	}
	file, err := os.Open(o.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, app.NoFile(o.file, err)
	}
	if err != nil {
		return nil, err
	}
	in := &input{ReadCloser: file}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		_ = file.Close() // it was only looked at
		return nil, app.Fail(app.Usage, "%s is a folder, no file of bookmarks.", output.Clean(o.file)).Try("bm import FILE, with a file in it")
	}
	if err == nil && info.Mode().IsRegular() {
		in.file, in.size = file, info.Size()
	}
	return in, nil
}

// again is the command that imports the rejects once they are mended.
func (o *importOptions) again() string {
	command := "bm import " + app.Typed(o.rejects)
	if o.filed {
		command += " --folder " + app.Typed(o.folder)
	}
	return command
}

// into is the folder that receives the file, as far as it is there.
func (o *importOptions) into(ctx context.Context, store *localstore.Store, replica int64) (app.Destination, error) {
	if !o.filed {
		return app.Destination{}, nil
	}
	return app.FindDestination(ctx, store, replica, o.folder)
}

// making makes what is missing of the folder; nil where nothing is.
func making(into app.Destination) func(*localstore.Editor) (string, error) {
	if len(into.Missing) == 0 {
		return nil
	}
	return into.Make
}
