package workspaces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

const columns = `id, tenant_id, name, slug, is_default, hub_link_check_schedule, created_at`

func scan(row sqldb.Scanner) (api.Workspace, error) {
	var w api.Workspace
	var createdAt int64
	err := row.Scan(&w.ID, &w.TenantID, &w.Name, &w.Slug, &w.IsDefault, &w.HubLinkCheckSchedule, &createdAt)
	w.CreatedAt = api.FromMicros(createdAt)
	return w, err
}

func noWorkspace() error { return api.Errorf(api.CodeNotFound, "no such workspace") }

// find reads a live workspace.
func (s *Service) find(ctx context.Context, tx *sqldb.Tx, scope access.Scope) (w api.Workspace, err error) {
	err = tx.Rows(ctx, `SELECT `+columns+` FROM workspace WHERE tenant_id = $1 AND id = $2 AND deleted_at = 0`,
		[]any{scope.TenantID, scope.WorkspaceID}, func(row sqldb.Scanner) error {
			w, err = scan(row)
			return err
		})
	if err == nil && w.ID == "" {
		err = noWorkspace()
	}
	return w, err
}

// list reads the tenant's live workspaces, newest first.
func (s *Service) list(ctx context.Context, tx *sqldb.Tx, tenantID string) (list []api.Workspace, err error) {
	err = tx.Rows(ctx, `SELECT `+columns+` FROM workspace WHERE tenant_id = $1 AND deleted_at = 0 ORDER BY created_at DESC, id DESC`,
		[]any{tenantID}, func(row sqldb.Scanner) error {
			w, err := scan(row)
			list = append(list, w)
			return err
		})
	return list, err
}

// lock keeps the tenant's set of workspaces to this transaction: that one is
// left, that one is the default and that slugs differ is about all of them.
func lock(ctx context.Context, tx *sqldb.Tx, tenantID string) error {
	if _, err := tx.Exec(ctx, `UPDATE tenant SET name = name WHERE id = $1`, tenantID); err != nil {
		return fmt.Errorf("lock the workspaces: %w", err)
	}
	return nil
}

// insert makes a workspace with its head and its creator's assignment. A
// generated slug that is taken gets a number; a chosen one is a conflict.
func (s *Service) insert(ctx context.Context, tx *sqldb.Tx, tenantID, accountID, name, slug string, isDefault bool) (string, error) {
	if err := lock(ctx, tx, tenantID); err != nil {
		return "", err
	}
	id, now := s.newID(), s.now().UnixMicro()
	chosen := slug != ""
	base := slug
	if !chosen {
		base = cmp.Or(rules.Slug(name), "workspace") // a name may have no letter that a slug has
	}
	for n := 1; ; n++ {
		slug = base
		if n > 1 {
			slug = base + "-" + strconv.Itoa(n)
		}
		inserted, err := tx.Exec(ctx, `INSERT INTO workspace (id, tenant_id, name, slug, is_default, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (tenant_id, slug) WHERE deleted_at = 0 DO NOTHING`,
			id, tenantID, name, slug, isDefault, now)
		if err != nil {
			return "", fmt.Errorf("make the workspace: %w", err)
		}
		if inserted == 1 {
			break
		}
		if chosen {
			return "", slugTaken()
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO workspace_head (workspace_id, tenant_id, epoch) VALUES ($1, $2, $3)`, id, tenantID, s.newID())
	if err != nil {
		return "", fmt.Errorf("make the workspace's head: %w", err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO role_assignment (id, tenant_id, account_id, role_id, scope_type, scope_id, created_at)
		SELECT $1, $2, $3, id, 'workspace', $4, $5 FROM role WHERE tenant_id = $2 AND system_key = $6`,
		s.newID(), tenantID, accountID, id, now, string(access.Administrator))
	if err != nil {
		return "", fmt.Errorf("give the workspace to its maker: %w", err)
	}
	return id, nil
}

func slugTaken() error {
	return &api.Error{
		Code: api.CodeConflict, Message: "a workspace of this organization has this slug",
		Details: []api.FieldError{{Field: "body.slug", Message: "is taken"}},
	}
}

// CreateFirst makes a tenant's default workspace.
func (s *Service) CreateFirst(ctx context.Context, tx *sqldb.Tx, tenantID, accountID string) (string, error) {
	return s.insert(ctx, tx, tenantID, accountID, "Bookmarks", "", true)
}

// DefaultFor is the tenant's default workspace where the rights reach it,
// else the oldest that they reach, else "".
func (s *Service) DefaultFor(ctx context.Context, tx *sqldb.Tx, tenantID string, rights access.Rights) (string, error) {
	list, err := s.list(ctx, tx, tenantID)
	if err != nil {
		return "", fmt.Errorf("list the workspaces: %w", err)
	}
	found := ""
	for _, w := range list { // newest first
		if rights.In(w.ID) == 0 {
			continue
		}
		found = w.ID
		if w.IsDefault {
			break
		}
	}
	return found, nil
}

func (s *Service) deleted(ctx context.Context, tx *sqldb.Tx, tenantID string) (list []api.DeletedWorkspaceSummary, err error) {
	err = tx.Rows(ctx, `SELECT id, name, slug, deleted_at FROM workspace WHERE tenant_id = $1 AND deleted_at > 0 ORDER BY created_at DESC, id DESC`,
		[]any{tenantID}, func(row sqldb.Scanner) error {
			var w api.DeletedWorkspaceSummary
			var deletedAt int64
			if err := row.Scan(&w.ID, &w.Name, &w.Slug, &deletedAt); err != nil {
				return err
			}
			w.DeletedAt = api.FromMicros(deletedAt)
			left := w.DeletedAt.Add(retention).Sub(s.now())
			w.DaysUntilPermanentDeletion = max(0, int((left+day-1)/day))
			list = append(list, w)
			return nil
		})
	return list, err
}

// remove marks a workspace deleted and hands its default on; the caller has
// locked the tenant's set.
func (s *Service) remove(ctx context.Context, tx *sqldb.Tx, scope access.Scope) error {
	var others int
	err := tx.Row(ctx, `SELECT count(*) FROM workspace WHERE tenant_id = $1 AND deleted_at = 0 AND id <> $2`,
		[]any{scope.TenantID, scope.WorkspaceID}, &others)
	if err != nil {
		return err
	}
	if others == 0 {
		return api.Errorf(api.CodeConflict, "this is the organization's last workspace: make another before you delete it")
	}
	now := s.now().UnixMicro()
	var wasDefault bool
	err = tx.Row(ctx, `SELECT is_default FROM workspace WHERE tenant_id = $1 AND id = $2 AND deleted_at = 0`,
		[]any{scope.TenantID, scope.WorkspaceID}, &wasDefault)
	if errors.Is(err, sqldb.ErrNotFound) {
		return noWorkspace()
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE workspace SET deleted_at = $3, updated_at = $3, is_default = FALSE WHERE tenant_id = $1 AND id = $2`,
		scope.TenantID, scope.WorkspaceID, now)
	if err != nil || !wasDefault {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE workspace SET is_default = TRUE WHERE id =
		(SELECT id FROM workspace WHERE tenant_id = $1 AND deleted_at = 0 ORDER BY created_at, id LIMIT 1)`, scope.TenantID)
	return err
}

// bringBack restores a deleted workspace; one whose slug was taken meanwhile
// gets a number.
func (s *Service) bringBack(ctx context.Context, tx *sqldb.Tx, scope access.Scope) error {
	if err := lock(ctx, tx, scope.TenantID); err != nil {
		return err
	}
	var slug string
	var deletedAt int64
	err := tx.Row(ctx, `SELECT slug, deleted_at FROM workspace WHERE tenant_id = $1 AND id = $2 AND deleted_at > 0`,
		[]any{scope.TenantID, scope.WorkspaceID}, &slug, &deletedAt)
	if errors.Is(err, sqldb.ErrNotFound) {
		return api.Errorf(api.CodeConflict, "the workspace is not deleted")
	}
	if err != nil {
		return err
	}
	if deletedAt < s.purgedBefore() {
		// A purge may be emptying it already.
		return api.Errorf(api.CodeGone, "the workspace was deleted more than %d days ago", api.TrashDays)
	}
	candidate := slug
	for n := 2; ; n++ {
		var taken int
		err := tx.Row(ctx, `SELECT count(*) FROM workspace WHERE tenant_id = $1 AND slug = $2 AND deleted_at = 0`,
			[]any{scope.TenantID, candidate}, &taken)
		if err != nil {
			return err
		}
		if taken == 0 {
			break
		}
		candidate = slug + "-" + strconv.Itoa(n)
	}
	_, err = tx.Exec(ctx, `UPDATE workspace SET deleted_at = 0, slug = $3, updated_at = $4 WHERE tenant_id = $1 AND id = $2`,
		scope.TenantID, scope.WorkspaceID, candidate, s.now().UnixMicro())
	return err
}
