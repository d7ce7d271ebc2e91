package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bm/cli/app"
	"bm/cli/auth"
	"bm/cli/bookmark"
	"bm/cli/config"
	"bm/cli/doctor"
	"bm/cli/folder"
	"bm/cli/history"
	"bm/cli/key"
	"bm/cli/manual"
	"bm/cli/mirror"
	"bm/cli/output"
	"bm/cli/request"
	"bm/cli/serve"
	"bm/cli/service"
	"bm/cli/settings"
	"bm/cli/syncing"
	"bm/cli/tag"
	"bm/cli/transfer"
	"bm/cli/up"
	"bm/cli/workspace"
)

// Main runs the program and is its exit code.
func Main(version string) int {
	ctx := &interrupts{}
	defer ctx.end()
	// A reader that leaves early, as head does, ends this program quietly.
	signal.Ignore(syscall.SIGPIPE)
	a := app.New(version, output.System(os.Getenv), os.Getenv)
	return Run(ctx, a, os.Args[1:])
}

// Run runs one command line and is its exit code.
func Run(ctx context.Context, a *app.App, args []string) int {
	args = queries(args)
	root := newRoot(a, wantedNoun(args))
	root.cmd.SetArgs(args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		noFiles(root.cmd)
	}
	cmd, err := root.cmd.ExecuteContextC(ctx)
	if closed := a.Close(); err == nil {
		err = closed
	}
	if err != nil && !root.started {
		err = usage(root.cmd, cmd, err)
	}
	if err == nil {
		err = root.unshown
	}
	// Only of the results: a server may end a connection in the same way.
	if unprinted, ok := errors.AsType[*output.Unprinted](err); ok && errors.Is(unprinted, syscall.EPIPE) {
		return exitDone
	}
	if _, told := errors.AsType[*app.Error](err); !told && errors.Is(err, net.ErrClosed) && ctx.Err() != nil {
		err = ctx.Err() // which is what closed it
	}
	return report(a.IO, refused(a, err))
}

// root is the root command, and whether any command began to run: what fails
// before that is a matter of usage.
type root struct {
	app     *app.App
	cmd     *cobra.Command
	started bool
	unshown error // why a help could not be printed
}

// The groups that the help shows commands in.
const (
	groupBookmarks = "bookmarks"
	groupSync      = "sync"
	groupServer    = "server"
	groupMore      = "more"
)

// A noun is a package of commands.
type noun struct {
	names []string // what its commands are called, other names included
	group string
	make  func(a *app.App, root *cobra.Command) []*cobra.Command
}

func one(f func(*app.App) *cobra.Command) func(*app.App, *cobra.Command) []*cobra.Command {
	return func(a *app.App, _ *cobra.Command) []*cobra.Command { return []*cobra.Command{f(a)} }
}

func several(f func(*app.App) []*cobra.Command) func(*app.App, *cobra.Command) []*cobra.Command {
	return func(a *app.App, _ *cobra.Command) []*cobra.Command { return f(a) }
}

func newDaemon(a *app.App) *cobra.Command {
	return service.New(a, func(ctx context.Context) error {
		mirror.Frugal()
		return mirror.RunDaemon(ctx, a)
	})
}

func newUp(a *app.App) *cobra.Command { return up.New(a, serve.Host(a), transfer.ImportFile) }

// newServe is the command with the settings of every other one hidden: a server
// heeds none of them, and its help should not say so.
func newServe(a *app.App, root *cobra.Command) []*cobra.Command {
	cmd := serve.New(a)
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		unheeded := *f
		unheeded.Hidden = true
		cmd.PersistentFlags().AddFlag(&unheeded)
	})
	return []*cobra.Command{cmd}
}

var nouns = []noun{
	{[]string{"add", "get", "ls", "list", "search", "open", "edit", "mv", "rm", "delete", "restore", "random", "dupes"}, groupBookmarks, several(bookmark.Commands)},
	{[]string{"tag", "tags"}, groupBookmarks, one(tag.New)},
	{[]string{"folder", "folders"}, groupBookmarks, one(folder.New)},
	{[]string{"import", "export", "browsers"}, groupBookmarks, several(transfer.Commands)},
	{[]string{"undo", "redo", "log"}, groupBookmarks, several(history.Commands)},
	{[]string{"workspace", "workspaces", "ws"}, groupSync, one(workspace.New)},
	{[]string{"auth"}, groupSync, one(auth.New)},
	{[]string{"key", "keys"}, groupSync, one(key.New)},
	{[]string{"sync"}, groupSync, one(syncing.New)},
	{[]string{"daemon"}, groupSync, one(newDaemon)},
	{[]string{"up"}, groupServer, one(newUp)},
	{[]string{"serve"}, groupServer, newServe},
	{[]string{"api"}, groupMore, one(request.New)},
	{[]string{"doctor"}, groupMore, one(doctor.New)},
	{[]string{"config"}, groupMore, one(settings.New)},
	{[]string{"version"}, groupMore, one(manual.NewVersion)},
	{[]string{"completion", "man"}, groupMore, manual.Commands},
}

// wantedNoun is the first argument where it names a command that needs no
// other to be there: the tree of all commands costs more than most of them do.
func wantedNoun(args []string) string {
	if len(args) == 0 || slices.Contains([]string{"completion", "man"}, args[0]) {
		return ""
	}
	for _, n := range nouns {
		if slices.Contains(n.names, args[0]) {
			return args[0]
		}
	}
	return ""
}

// newRoot makes the tree of commands, or of it only what wanted names.
func newRoot(a *app.App, wanted string) *root {
	r := &root{app: a}
	r.cmd = &cobra.Command{
		Use:   "bm",
		Short: "Bookmarks, local first",
		Long: `Bookmarks, local first: kept, found and edited on this machine without a network,
and mirrored to a server when there is one.`,
		Example: `  bm add https://go.dev --tag go       keep a bookmark
  bm import bookmarks.html             bring a browser's along
  bm search golang                     find them again
  bm up                                a server of your own, on this machine`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			takeSettings(a, cmd.Flags())
			a.Command = cmd.CommandPath()
			a.Wait, _ = cmd.Flags().GetBool("wait")
			return nil
		},
		Annotations:       map[string]string{manual.ExitCodes: exitCodes},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	r.cmd.SetIn(a.IO.In)
	r.cmd.SetOut(a.IO.Out)
	r.cmd.SetErr(a.IO.Err)
	r.cmd.Version = a.Version
	r.cmd.SetVersionTemplate(manual.Version(a) + "\n")
	r.cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	r.cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { r.help(cmd) })
	addSettings(a, r.cmd)
	for _, g := range []struct{ id, title string }{
		{groupBookmarks, "Bookmarks:"}, {groupSync, "This machine and the server:"}, {groupServer, "Hosting:"}, {groupMore, "More:"},
	} {
		r.cmd.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
	}
	for _, n := range nouns {
		if wanted == "" || slices.Contains(n.names, wanted) {
			r.add(n.group, n.make(a, r.cmd)...)
		}
	}
	r.cmd.SetHelpCommand(manual.NewHelp(r.cmd))
	r.cmd.SetHelpCommandGroupID(groupMore)
	return r
}

func (r *root) add(group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
		r.cmd.AddCommand(cmd)
		requireSubcommand(cmd)
		r.noteStart(cmd)
	}
}

// noteStart learns when a command begins to run. That is later than any hook
// of cobra's: what flags exclude each other is judged after all of them.
func (r *root) noteStart(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		r.noteStart(sub)
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			r.started = true
			return r.awaited(cmd.Context(), run(cmd, args))
		}
	}
}

// awaited waits for the server's word on what a command has edited, where that was
// asked for: also where not all was done that was to be.
func (r *root) awaited(ctx context.Context, done error) error {
	switch {
	case !r.app.Awaits():
		return done
	case ctx.Err() != nil: // nobody waits any more: the daemon sends it
		r.app.Wait = false
		r.app.Edited(ctx)
		return done
	}
	return errors.Join(done, r.keptHere(syncing.Await(ctx, r.app)))
}

// keptHere says that an edit is safe though its arrival can't be waited for.
func (r *root) keptHere(err error) error {
	if err == nil {
		return nil
	}
	told := *explain(refused(r.app, err))
	if told.Kind != app.Partly { // which says what is where
		told.Message += " What was changed is kept here, and goes to the server later."
	}
	return &told
}

// noFiles keeps a shell from offering files where none is wanted, and anything
// behind the last argument that a command takes. It is done for a shell that asks
// alone: no other start has to walk the whole tree.
func noFiles(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
		if strings.Contains(cmd.Use, "FILE") {
			cmd.ValidArgsFunction = files
		}
	}
	if offer := cmd.ValidArgsFunction; offer != nil && cmd.Args != nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if tooMany(cmd.Args(cmd, append(slices.Clone(args), typed))) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return offer(cmd, args, typed)
		}
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if value, _ := pflag.UnquoteUsage(f); value != "file" && value != "folder" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions) // unless it has one
		}
	})
	for _, sub := range cmd.Commands() {
		noFiles(sub)
	}
}

// files leaves it to the shell to offer files.
func files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// requireSubcommand lets a group alone show its help, and refuses what is none
// of its commands.
func requireSubcommand(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		requireSubcommand(sub)
	}
	if cmd.HasSubCommands() && cmd.Run == nil && cmd.RunE == nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			e := app.Fail(app.Usage, "There is no command %q in %q.", output.Clean(args[0]), cmd.CommandPath())
			if near := app.NearestCommand(cmd, args[0]); near != "" {
				return e.Try("%s %s", cmd.CommandPath(), near)
			}
			return e.Try("%s --help", cmd.CommandPath())
		}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// widestText is where the lines of a help end at the latest: longer ones are hard to
// read.
const widestText = 80

// help shows a command's help. Cobra's own would print a failed write itself,
// and call it a success.
func (r *root) help(cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	columns := r.app.IO.Width
	wrapped := strings.ReplaceAll(r.cmd.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped "+strconv.Itoa(columns)+" ")
	r.cmd.SetUsageTemplate(wrapped)
	text = output.Fill(strings.TrimRight(text, "\n"), min(columns, widestText)) + "\n\n" + cmd.UsageString()
	if !cmd.HasParent() {
		text += "\n" + exitCodes + "\n"
	}
	if _, err := io.WriteString(r.app.IO.Out, text); err != nil && r.unshown == nil {
		r.unshown = err
	}
}

// settingFlags are the settings that every command takes as a flag; value is
// the word of what each is about that stands for its value.
var settingFlags = []struct{ key, flag, short, value string }{
	{config.Profile, "profile", "p", "profile"},
	{config.Workspace, "workspace", "w", "workspace"},
	{config.Server, "server", "", "address"},
	{config.Offline, "offline", "", ""},
	{config.InsecureHTTP, "insecure-http", "", ""},
	{config.InsecureStorage, "insecure-storage", "", ""},
}

func addSettings(a *app.App, cmd *cobra.Command) {
	about := map[string]string{}
	isSwitch := map[string]bool{}
	for _, s := range config.Settings {
		about[s.Key], isSwitch[s.Key] = s.About, s.Default == "true" || s.Default == "false"
	}
	flags := cmd.PersistentFlags()
	for _, s := range settingFlags {
		if isSwitch[s.key] {
			flags.BoolP(s.flag, s.short, false, about[s.key])
		} else {
			flags.StringP(s.flag, s.short, "", strings.Replace(about[s.key], s.value, "`"+s.value+"`", 1))
		}
	}
	flags.Bool("wait", false, "after an edit, wait until the server has it")
	_ = cmd.RegisterFlagCompletionFunc("workspace", func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		takeSettings(a, cmd.Flags())
		return a.CompleteWorkspaces(cmd, args, typed)
	})
	_ = cmd.RegisterFlagCompletionFunc("profile", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		c, err := a.Config()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, err := c.Profiles()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

// takeSettings hands on the settings that were given as flags.
func takeSettings(a *app.App, flags *pflag.FlagSet) {
	for _, s := range settingFlags {
		if f := flags.Lookup(s.flag); f != nil && f.Changed {
			a.Flags[s.key] = f.Value.String()
		}
	}
}
