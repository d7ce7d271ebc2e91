package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/cli/transfer/browser"
	"bm/localstore/places"
)

// bindFrom adds the flag that names a browser, in place of a file.
func (o *importOptions) bindFrom(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.from, "from", "", "read them of this `browser`, or browser:profile; bm browsers lists both")
	_ = cmd.RegisterFlagCompletionFunc("from", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var offers []string
		for _, p := range browser.Find(browser.This(o.app.Getenv)).Profiles {
			if output.Clean(p.From) == p.From {
				offers = append(offers, p.From+"\t"+output.Clean(p.Title))
			}
		}
		return offers, cobra.ShellCompDirectiveNoFileComp
	})
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		if cmd.Flags().Changed("from") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// args wants a file, unless a browser is read.
func (o *importOptions) args(cmd *cobra.Command, args []string) error {
	if !cmd.Flags().Changed("from") {
		return cobra.ExactArgs(1)(cmd, args)
	}
	switch {
	case o.from == "":
		return app.Fail(app.Usage, "--from wants the name of a browser.").Try("bm browsers   lists them")
	case len(args) > 0:
		return app.Fail(app.Usage, "--from %s reads what the browser holds, and %s is a file: they exclude each other.", output.Clean(o.from), output.Clean(args[0])).
			Try("bm import --from %s", app.Typed(o.from))
	}
	return nil
}

// openBrowser opens what a browser's profile holds. Whatever is copied for that
// lies in bm's own data folder, and goes when it is closed.
func (o *importOptions) openBrowser(ctx context.Context) (*input, error) {
	c, err := o.app.Config()
	if err != nil {
		return nil, err
	}
	profile, err := chooseProfile(browser.This(o.app.Getenv), o.from)
	if err != nil {
		return nil, err
	}
	o.from = profile.From
	if len(profile.Encrypted) > 0 {
		o.app.Warn(fmt.Errorf("what %s keeps encrypted can't be read, and is not imported: %s in %s; what it exports has all",
			profile.Title, strings.Join(profile.Encrypted, ", "), profile.Folder))
	}
	if err := o.makePrivate(c.Folders.Data); err != nil {
		return nil, err
	}
	progress := o.app.IO.Begin("Reading "+profile.Title, "bookmarks", 0)
	defer progress.End()
	file, err := profile.Open(ctx, browser.Copying{
		Folder: filepath.Join(c.Folders.Data, "browser"), Progress: progress.Set,
		Waiting: func() {
			fmt.Fprintln(o.app.IO.Err, "Another import from a browser runs: this one waits for it.")
		},
	})
	if err != nil {
		return nil, unread(&profile, err)
	}
	in := &input{ReadCloser: file, size: file.Size}
	if whole, ok := file.Reader.(*os.File); ok {
		in.file = whole // it is read twice, without another copy
	}
	return in, nil
}

// mended is what to read instead of what breaks off. What a browser keeps is not
// to be mended by hand.
func (o *importOptions) mended() string {
	if o.from != "" {
		return "bm import FILE, with one that the browser exported: nothing is added twice"
	}
	return "mend the file and run it again: nothing is added twice"
}

// makePrivate makes a folder of bm's own; one that can't be closed to others is
// told.
func (o *importOptions) makePrivate(dir string) error {
	err := config.MakePrivate(dir)
	if _, exposed := errors.AsType[*config.Exposed](err); exposed {
		o.app.Warn(err)
		return nil
	}
	return err
}

// chooseProfile is the one profile that is meant by what was typed.
func chooseProfile(machine browser.Machine, typed string) (browser.Profile, error) {
	if p, found := machine.At(typed); found {
		return p, nil
	}
	found := browser.Find(machine)
	meant := found.Select(typed)
	if len(meant) == 1 {
		return meant[0], nil
	}
	name, profile := browser.Split(typed)
	title, known := browser.Knows(name)
	switch {
	case len(meant) > 1:
		return browser.Profile{}, app.Fail(app.Usage, "%s has several profiles with bookmarks:%s", title, toType(meant)).Try("one of these")
	case !known:
		names := browser.Browsers(machine.System)
		failure := app.Fail(app.Usage, "%q is no browser that bm knows: those are %s.", output.Clean(name), strings.Join(names, ", "))
		if near := config.Nearest(name, names); near != "" {
			return browser.Profile{}, failure.Try("bm import --from %s", near)
		}
		return browser.Profile{}, failure.Try("a file that the browser exported: bm import FILE")
	}
	for _, trouble := range found.Troubles {
		if trouble.Title == title {
			return browser.Profile{}, barred(&trouble)
		}
	}
	if there := found.Select(name); profile != "" && len(there) > 0 {
		return browser.Profile{}, app.Fail(app.NotFound, "%s has no profile %q with bookmarks here. There is:%s", title, output.Clean(profile), toType(there)).Try("one of these")
	}
	failure := app.Fail(app.NotFound, "No bookmarks of %s were found on this machine.", title)
	if len(found.Profiles) > 0 {
		failure.Message += " There is:" + toType(found.Profiles)
	}
	return browser.Profile{}, failure.Try("bm import FILE, with one that %s exported; or --from %s:FOLDER, with its profile's folder", title, name)
}

// toType lists what can be typed to import from each profile, a line each.
func toType(profiles []browser.Profile) string {
	var b strings.Builder
	for i := range profiles {
		b.WriteString("\n  bm import --from " + app.Typed(profiles[i].From))
	}
	return b.String()
}

// barred says that a place in which profiles may lie can't be looked at.
func barred(t *browser.Trouble) *app.Error {
	if errors.Is(t.Err, browser.ErrEncrypted) {
		return app.Fail(app.Failed, "%s keeps the bookmarks in %s encrypted, and nobody else can read them.", t.Title, output.Clean(t.Path)).
			Try("bm import FILE, with one that %s exported", t.Title).Because(t.Err)
	}
	failure := app.Fail(app.Failed, "%s can't be looked for in %s: %s.", t.Title, output.Clean(t.Path), reason(t.Err)).Because(t.Err)
	return failure.Try("%s", remedy(t.Engine, t.Path, t.Err))
}

// remedy is what to do about a file of a browser that can't be read.
func remedy(engine browser.Engine, path string, err error) string {
	switch {
	case engine == browser.Safari && errors.Is(err, fs.ErrPermission):
		return "System Settings > Privacy & Security > Full Disk Access, and there the terminal that bm runs in; or in Safari File > Export"
	case errors.Is(err, fs.ErrPermission):
		return "ls -ld " + app.Typed(path)
	}
	return "bm import FILE, with one that the browser exported"
}

// unread says why a profile could not be read.
func unread(p *browser.Profile, err error) error {
	backups := filepath.Join(p.Folder, "bookmarkbackups")
	if broken, ok := errors.AsType[*browser.BrokenError](err); ok {
		return app.Fail(app.Failed, "%s can't be read: %v. Nothing was imported.", output.Clean(broken.Path), broken.Err).
			Try("bm import FILE, with one that %s exported", p.Title).Because(err)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return app.Unchanged(err)
	case errors.Is(err, places.ErrDamaged):
		return app.Fail(app.Failed, "The database of %s in %s is damaged. Nothing was imported.", p.Title, output.Clean(p.Folder)).
			Try("bm import FILE, with the newest in %s", output.Clean(backups)).Because(err)
	case errors.Is(err, places.ErrForeign):
		return app.Fail(app.Failed, "The database of %s in %s holds no bookmarks.", p.Title, output.Clean(p.Folder)).
			Try("bm browsers   lists the profiles that may").Because(err)
	case errors.Is(err, places.ErrBusy):
		return app.Fail(app.Failed, "%s is rewriting its database just now.", p.Title).Try("the same command again, or once %s is closed", p.Title).Because(err)
	case app.DiskFull(err):
		return app.Fail(app.Failed, "The disk is full: there is no room for a copy of %s's database. Nothing was imported.", p.Title).
			Try("free some space (df -h) and run it again").Because(err)
	case errors.Is(err, fs.ErrPermission):
		return app.Fail(app.Failed, "%s in %s can't be read: %s.", p.Title, output.Clean(p.Folder), reason(err)).
			Try("%s", remedy(p.Engine, p.Folder, err)).Because(err)
	}
	return fmt.Errorf("read %s: %w", p.Title, err)
}
