package workspaces

import (
	"context"
	"fmt"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

const (
	day       = 24 * time.Hour
	retention = api.TrashDays * day
)

// Service keeps workspaces.
type Service struct {
	db    *sqldb.DB
	now   func() time.Time
	newID func() string
}

// New makes the service.
func New(db *sqldb.DB, now func() time.Time, newID func() string) *Service {
	return &Service{db: db, now: now, newID: newID}
}

// List is the workspaces that the caller reaches, newest first.
func (s *Service) List(ctx context.Context, p *access.Principal) (visible []api.Workspace, err error) {
	err = s.db.Read(ctx, func(tx *sqldb.Tx) error {
		all, err := s.list(ctx, tx, p.TenantID)
		for _, w := range all {
			if p.InWorkspace(w.ID).Has(access.WorkspacesRead) {
				visible = append(visible, w)
			}
		}
		return err
	})
	return visible, api.Wrap("list the workspaces", err)
}

// Get is one workspace.
func (s *Service) Get(ctx context.Context, scope access.Scope) (w api.Workspace, err error) {
	err = s.db.Read(ctx, func(tx *sqldb.Tx) error {
		w, err = s.find(ctx, tx, scope)
		return err
	})
	return w, api.Wrap("read the workspace", err)
}

// Create makes a workspace, whose administrator the caller becomes.
func (s *Service) Create(ctx context.Context, p *access.Principal, in api.WorkspaceCreate) (w api.Workspace, err error) {
	name, problems := checkName(in.Name)
	slug := in.Slug.Value
	if slug != "" && !rules.ValidSlug(slug) {
		problems = append(problems, api.FieldError{Field: "body.slug", Message: "must be lower-case letters, digits and single dashes, at most 64"})
	}
	if err := api.InvalidFields(problems); err != nil {
		return w, err
	}
	err = s.db.Write(ctx, func(tx *sqldb.Tx) error {
		id, err := s.insert(ctx, tx, p.TenantID, p.AccountID, name, slug, false)
		if err != nil {
			return err
		}
		w, err = s.find(ctx, tx, access.Scope{TenantID: p.TenantID, WorkspaceID: id})
		return err
	})
	return w, api.Wrap("make the workspace", err)
}

func checkName(raw string) (string, []api.FieldError) {
	name := rules.Line(raw)
	if problem := rules.CheckText("body.name", name, api.MaxName); problem != nil {
		return name, []api.FieldError{*problem}
	}
	if name == "" {
		return name, []api.FieldError{{Field: "body.name", Message: "must not be empty"}}
	}
	return name, nil
}

// Rename changes the name; the slug stays, since links may hold it.
func (s *Service) Rename(ctx context.Context, scope access.Scope, in api.WorkspacePatch, match Match) (api.Workspace, error) {
	name, problems := checkName(in.Name)
	if err := api.InvalidFields(problems); err != nil {
		return api.Workspace{}, err
	}
	return s.change(ctx, scope, "rename the workspace", match, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE workspace SET name = $3, updated_at = $4 WHERE tenant_id = $1 AND id = $2 AND deleted_at = 0`,
			scope.TenantID, scope.WorkspaceID, name, s.now().UnixMicro())
		return err
	})
}

// SetHub changes how often links are checked.
func (s *Service) SetHub(ctx context.Context, scope access.Scope, in api.HubSettings, match Match) (api.Workspace, error) {
	schedule, given := in.HubLinkCheckSchedule.Get()
	if in.HubLinkCheckSchedule.Null {
		schedule = api.CheckOnDemand
	}
	return s.change(ctx, scope, "change the hub's settings", match, func(tx *sqldb.Tx) error {
		if !given {
			return nil
		}
		_, err := tx.Exec(ctx, `UPDATE workspace SET hub_link_check_schedule = $3, updated_at = $4 WHERE tenant_id = $1 AND id = $2 AND deleted_at = 0`,
			scope.TenantID, scope.WorkspaceID, string(schedule), s.now().UnixMicro())
		return err
	})
}

// Match refuses an edit of what is there; nil is content with anything.
type Match func(before api.Workspace) error

// matches holds the row until the end of the transaction, and asks match.
func (s *Service) matches(ctx context.Context, tx *sqldb.Tx, scope access.Scope, match Match) error {
	if match == nil {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE workspace SET updated_at = updated_at WHERE tenant_id = $1 AND id = $2`, scope.TenantID, scope.WorkspaceID)
	if err != nil {
		return fmt.Errorf("hold the workspace: %w", err)
	}
	before, err := s.find(ctx, tx, scope)
	if err != nil {
		return err
	}
	return match(before)
}

func (s *Service) change(ctx context.Context, scope access.Scope, what string, match Match, fn func(*sqldb.Tx) error) (w api.Workspace, err error) {
	err = s.db.Write(ctx, func(tx *sqldb.Tx) error {
		if err := s.matches(ctx, tx, scope, match); err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		w, err = s.find(ctx, tx, scope)
		return err
	})
	return w, api.Wrap(what, err)
}

// Delete puts a workspace and all in it into the trash for 30 days.
func (s *Service) Delete(ctx context.Context, scope access.Scope, match Match) error {
	return api.Wrap("delete the workspace", s.db.Write(ctx, func(tx *sqldb.Tx) error {
		// Before any one of them is held: another that is deleted meanwhile may
		// have to make this one the default.
		if err := lock(ctx, tx, scope.TenantID); err != nil {
			return err
		}
		if err := s.matches(ctx, tx, scope, match); err != nil {
			return err
		}
		return s.remove(ctx, tx, scope)
	}))
}

// Restore takes it out again.
func (s *Service) Restore(ctx context.Context, scope access.Scope) (api.Workspace, error) {
	return s.change(ctx, scope, "restore the workspace", nil, func(tx *sqldb.Tx) error { return s.bringBack(ctx, tx, scope) })
}

// Deleted is what can still be restored, newest first.
func (s *Service) Deleted(ctx context.Context, p *access.Principal) (list []api.DeletedWorkspaceSummary, err error) {
	if !p.InTenant().Covers(access.Everything()) {
		return nil, api.Errorf(api.CodeForbidden, "only an administrator of the organization sees its deleted workspaces")
	}
	err = s.db.Read(ctx, func(tx *sqldb.Tx) error {
		list, err = s.deleted(ctx, tx, p.TenantID)
		return err
	})
	return list, api.Wrap("list the deleted workspaces", err)
}

// Contents is what workspaces need of what is in them.
type Contents interface {
	// Empty removes everything in a workspace for good, in small steps.
	Empty(ctx context.Context, scope access.Scope) error
}

// purgedBefore is when what is removed for good now was deleted at the latest.
func (s *Service) purgedBefore() int64 { return s.now().Add(-retention).UnixMicro() }

// Purge removes for good what has been in the trash for 30 days, and says how
// many workspaces that were.
func (s *Service) Purge(ctx context.Context, contents Contents) (purged int, err error) {
	var due []access.Scope
	err = s.db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Rows(ctx, `SELECT tenant_id, id FROM workspace WHERE deleted_at > 0 AND deleted_at < $1 ORDER BY deleted_at`,
			[]any{s.purgedBefore()}, func(row sqldb.Scanner) error {
				var scope access.Scope
				err := row.Scan(&scope.TenantID, &scope.WorkspaceID)
				due = append(due, scope)
				return err
			})
	})
	if err != nil {
		return 0, fmt.Errorf("look for workspaces to purge: %w", err)
	}
	for _, scope := range due {
		if err := contents.Empty(ctx, scope); err != nil {
			return purged, err
		}
		var n int64
		err := s.db.Write(ctx, func(tx *sqldb.Tx) (err error) {
			_, err = tx.Exec(ctx, `DELETE FROM role_assignment WHERE tenant_id = $1 AND scope_type = 'workspace' AND scope_id = $2`, scope.TenantID, scope.WorkspaceID)
			if err != nil {
				return err
			}
			n, err = tx.Exec(ctx, `DELETE FROM workspace WHERE tenant_id = $1 AND id = $2 AND deleted_at > 0`, scope.TenantID, scope.WorkspaceID)
			return err
		})
		if err != nil {
			return purged, fmt.Errorf("purge a workspace: %w", err)
		}
		purged += int(n) // none where another server was first
	}
	return purged, nil
}
