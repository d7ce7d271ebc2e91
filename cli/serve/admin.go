package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server"
)

// newAdmin is the group of commands that work on a server's database.
func newAdmin(a *app.App) *cobra.Command {
	s := &settings{app: a}
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Look after a server's database",
		Long: `Look after a server's database. backup, check, purge and user work beside a running
server; migrate and restore need it stopped. The database is found as bm serve finds
it: by flags, variables and the settings' file.`,
		Example: `  bm serve admin backup bm-$(date +%F).db
  bm serve admin check
  bm serve admin user ls`,
	}
	f := cmd.PersistentFlags()
	f.StringVar(&s.file, "config", "", "read the server's settings from a TOML `file`")
	f.StringVar(&s.dataDir, "data-dir", "", "the `folder` of the database (default: server/ in bm's data folder)")
	f.StringVar(&s.databaseURL, "database-url", "", "the rows are in PostgreSQL: a postgres:// `URL`")
	cmd.AddCommand(newMigrate(s), newBackup(s), newRestore(s), newCheck(s), newPurge(s), newUser(s))
	return cmd
}

// located fills in where the database is.
func (s *settings) located(cmd *cobra.Command) error {
	all := &settings{app: s.app}
	probe := &cobra.Command{}
	all.define(probe)
	for _, name := range []string{"config", "data-dir", "database-url"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			if err := probe.Flags().Set(name, f.Value.String()); err != nil {
				return fmt.Errorf("read --%s: %w", name, err)
			}
		}
	}
	if err := all.load(probe); err != nil {
		return err
	}
	s.dataDir, s.databaseURL = all.dataDir, all.databaseURL
	return nil
}

// stored is the configuration of whoever looks at the database alone.
func (s *settings) stored() (server.Config, error) {
	s.addr, s.logFormat = "127.0.0.1:0", "auto"
	return s.config()
}

// with runs fn on the server's database.
func (s *settings) with(cmd *cobra.Command, fn func(ctx context.Context, a *server.Admin) error) (err error) {
	if err := s.located(cmd); err != nil {
		return err
	}
	c, err := s.stored()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	admin, err := server.OpenAdmin(ctx, c)
	if err != nil {
		return s.explain(err)
	}
	defer func() { err = errors.Join(err, admin.Close(context.WithoutCancel(ctx))) }()
	return s.explain(fn(ctx, admin))
}

// explain puts what an administrator's command failed with into a person's
// terms.
func (s *settings) explain(err error) error {
	if _, said := errors.AsType[*app.Error](err); said || err == nil {
		return err
	}
	fail := func(kind app.Kind, format string, args ...any) *app.Error {
		return app.Fail(kind, format, args...).Because(err)
	}
	switch {
	case errors.Is(err, server.ErrNoDatabase):
		return fail(app.NotFound, "There is no server's database in %s.", output.Clean(s.dataDir)).Try("name its folder with --data-dir")
	case errors.Is(err, server.ErrOutdated):
		return fail(app.Failed, "The database is of an older bm.").Try("stop the server, then: bm serve admin migrate")
	case errors.Is(err, server.ErrHeld):
		return fail(app.Conflict, "%s", output.Sentence(output.Clean(err.Error()))).Try("stop that server first")
	case errors.Is(err, server.ErrServing):
		return fail(app.Conflict, "A server uses the database.").Try("stop every bm serve first")
	case errors.Is(err, server.ErrNotEmpty):
		return fail(app.Conflict, "The database is not empty.").Try("make a new one, restore into it, and keep this one until you are sure")
	case errors.Is(err, server.ErrNoBackup):
		return fail(app.Failed, "%s.", output.Clean(err.Error()))
	case errors.Is(err, server.ErrDamaged):
		return damaged(err, s.dataDir)
	case errors.Is(err, server.ErrNewer):
		return newer(err)
	}
	if told := aboutDatabase(err, s.databaseURL); told != nil {
		return told
	}
	if path, ok := inTheWay(err); ok {
		return fail(app.Failed, "%s", output.Sentence(app.Plain(err))).Try("ls -ld %s", app.Typed(path))
	}
	return err
}

func newMigrate(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "migrate",
		Short:   "Bring the database to this bm's schema",
		Long:    "Bring the database to this bm's schema, as a start of the server does too.",
		Example: "  bm serve admin migrate --data-dir /var/lib/bm",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.located(cmd); err != nil {
				return err
			}
			c, err := s.stored()
			if err != nil {
				return err
			}
			n, err := server.Migrate(cmd.Context(), c)
			if err != nil {
				return s.explain(err)
			}
			if n == 0 {
				fmt.Fprintln(s.app.IO.Err, "The database was up to date.")
				return nil
			}
			fmt.Fprintf(s.app.IO.Err, "Ran %d migrations.\n", n)
			return nil
		},
	}
}

func newBackup(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a backup, while the server runs",
		Long: `Write all that is stored at this moment into one file, while the server runs. It
can be restored into the embedded database and into PostgreSQL. It holds what keys
and passwords are checked against: keep it as you keep the server.`,
		Example: `  bm serve admin backup bm-$(date +%F).db`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "":
				return app.NoFile("", nil)
			case "-":
				return app.Fail(app.Usage, "A backup goes into a file, not to standard output.").Try("./- for a file of that name")
			}
			return s.with(cmd, func(ctx context.Context, a *server.Admin) error {
				err := a.Backup(ctx, args[0])
				if errors.Is(err, os.ErrExist) {
					return app.Fail(app.Conflict, "There is a file %s already.", output.Clean(args[0])).Try("another name").Because(err)
				}
				if missing := app.NoFolder(args[0]); err != nil && missing != nil {
					return missing.Because(err)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(s.app.IO.Err, "Wrote %s.\n", output.Clean(args[0]))
				return nil
			})
		},
	}
}

func newRestore(s *settings) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the database's place",
		Long: `Put a backup in the database's place. The embedded database that was there is set
aside, not deleted; a PostgreSQL database must be empty. Clients notice: they compare
everything, and offer again what the backup lacks.`,
		Example: `  bm serve admin restore bm-2026-01-31.db`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.located(cmd); err != nil {
				return err
			}
			c, err := s.stored()
			if err != nil {
				return err
			}
			where := s.dataDir
			if s.databaseURL != "" {
				where = "PostgreSQL"
			}
			replaces, err := server.Restorable(c, args[0])
			if errors.Is(err, os.ErrNotExist) {
				return app.NoFile(args[0], err)
			}
			if err != nil {
				return s.explain(err)
			}
			question := fmt.Sprintf("Restore %s into %s", output.Clean(filepath.Base(args[0])), output.Clean(where))
			if replaces {
				question += ", and set aside the database that is there"
			}
			if err := s.app.Confirm(yes, question+"?"); err != nil {
				return err
			}
			aside, err := server.Restore(cmd.Context(), c, args[0])
			if err != nil {
				return s.explain(err)
			}
			fmt.Fprintf(s.app.IO.Err, "Restored %s.\n", output.Clean(args[0]))
			if aside != "" {
				fmt.Fprintf(s.app.IO.Err, "What was there before is in %s.\n", output.Clean(aside))
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}

func newCheck(s *settings) *cobra.Command {
	format := &output.Format[server.Finding]{Fields: []output.Field[server.Finding]{
		{Name: "where", Get: func(f server.Finding) any { return f.Where }},
		{Name: "what", Get: func(f server.Finding) any { return f.What }},
	}}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look for what is wrong in the database",
		Long: `Look for what is wrong in the database: the file, references, every workspace's
digest, tree, keys and search index. It changes nothing, and ends with 1 where it
finds something.`,
		Example: `  bm serve admin check
  bm serve admin check --json where,what`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := format.Wanted()
			if err != nil {
				return err
			}
			return s.with(cmd, func(ctx context.Context, a *server.Admin) error {
				findings, err := a.Check(ctx)
				if err != nil {
					return err
				}
				return report(s.app, format, wanted, findings)
			})
		},
	}
	format.Bind(cmd)
	return cmd
}

// report shows what a check found.
func report(a *app.App, format *output.Format[server.Finding], wanted bool, findings []server.Finding) error {
	var err error
	if wanted {
		err = format.List(a.IO.Out, a.IO, findings)
	} else if len(findings) > 0 {
		table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "where"}, output.Heading{Name: "what", Flexible: true})
		for _, f := range findings {
			if err := table.Row(output.Styled(output.Faint, f.Where), output.Text(f.What)); err != nil {
				return err
			}
		}
		err = table.End()
	}
	if err != nil {
		return err
	}
	if len(findings) > 0 {
		return app.Fail(app.Failed, "Found %s wrong.", things(len(findings))).Try("a backup from before: bm serve admin restore FILE")
	}
	fmt.Fprintln(a.IO.Err, "Found nothing wrong.")
	return nil
}

func things(n int) string {
	if n == 1 {
		return "1 thing that is"
	}
	return fmt.Sprintf("%d things that are", n)
}

func newPurge(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "purge",
		Short: "Remove for good, now, what was in the trash for 30 days",
		Long: `Remove for good, now, what was in the trash for 30 days. The server does the same
every hour.`,
		Example: "  bm serve admin purge",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd, func(ctx context.Context, a *server.Admin) error {
				done, err := a.Purge(ctx)
				if err != nil {
					return err
				}
				fmt.Fprintf(s.app.IO.Err, "Removed %s, and %d bookmarks and folders.\n", output.Plural(done.Workspaces, "workspace"), done.Rows)
				return nil
			})
		},
	}
}
