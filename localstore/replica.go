package localstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"bm/server/api"
)

// ReplicaKind is what a replica is a copy of.
type ReplicaKind string

// The kinds.
const (
	KindWorkspace ReplicaKind = "workspace"
	KindGrant     ReplicaKind = "grant"
	KindLink      ReplicaKind = "link"
)

// ReplicaState is how a replica stands with its server.
type ReplicaState string

// The states. In each of them the replica can be read; in all but frozen it
// can be edited.
const (
	StateLocal         ReplicaState = "local"         // it has no server
	StateBootstrapping ReplicaState = "bootstrapping" // its first pull is not complete
	StateLive          ReplicaState = "live"
	StateComparing     ReplicaState = "comparing"     // every row is being compared with the server's
	StateOffline       ReplicaState = "offline"       // the server could not be reached last time
	StateFailing       ReplicaState = "failing"       // the last round failed for another reason, which is tried again
	StateAuthRequired  ReplicaState = "auth_required" // the server does not accept the credential
	StateFrozen        ReplicaState = "frozen"        // access was taken away or the workspace deleted
)

// Replica is a copy of one workspace, grant or share link.
type Replica struct {
	N         int64        `json:"-"`
	Kind      ReplicaKind  `json:"kind"`
	RemoteID  string       `json:"id,omitempty"` // of the workspace, grant or link; "" while local
	TenantID  string       `json:"tenantId,omitempty"`
	Name      string       `json:"name"`
	Slug      string       `json:"slug,omitempty"`
	IsDefault bool         `json:"isDefault"`
	Writable  bool         `json:"writable"` // what the server allows; see [Replica.Editable]
	State     ReplicaState `json:"state"`
	Reason    string       `json:"reason,omitempty"`
	SyncedAt  api.Time     `json:"syncedAt,omitzero"`

	// Epoch and Cursor are where the next pull goes on, Rev the head at the
	// last whole pull, -1 after a repair, and Whole the cursor it ended with.
	Epoch  string `json:"-"`
	Cursor string `json:"-"`
	Rev    int64  `json:"-"`
	Whole  string `json:"-"`
	// Digest and Live are over the rows as the server last had them.
	Digest api.Digest `json:"-"`
	Live   int64      `json:"-"`
	// PurgedRev is the horizon up to which the server keeps no tombstones.
	PurgedRev int64 `json:"-"`
	// SharedRev is set while a full compare is due: the last rev that server
	// and replica are known to have in common.
	SharedRev *int64 `json:"-"`
}

// Doubtful reports whether a repair could not tell that the rows are all that
// there were, and as new: one of them that has no edit of ours says nothing
// against what the server has.
func (r *Replica) Doubtful() bool { return r.Rev < 0 }

// NotEditableError says why a replica takes no edits.
type NotEditableError struct {
	Slug string
	Why  string
}

func (e *NotEditableError) Error() string { return e.Why }

func (e *NotEditableError) Unwrap() error { return api.Errorf(api.CodeForbidden, "%s", e.Why) }

// Editable reports whether edits are taken; if not, why is a [NotEditableError].
func (r *Replica) Editable() error {
	switch {
	case r.State == StateFrozen:
		return &NotEditableError{r.Slug, fmt.Sprintf("%q can only be read here: %s", r.Name, r.Reason)}
	case !r.Writable:
		return &NotEditableError{r.Slug, fmt.Sprintf("%q is shared with you for reading only", r.Name)}
	}
	return nil
}

const replicaColumns = `n, kind, remote_id, tenant_id, name, slug, is_default, writable, state, reason,
	epoch, cursor, rev, whole, digest, live, purged_rev, shared_rev, synced_at`

func scanReplica(row scanner, r *Replica) error {
	var digest, synced int64
	var shared sql.NullInt64
	err := row.Scan(&r.N, &r.Kind, &r.RemoteID, &r.TenantID, &r.Name, &r.Slug, &r.IsDefault, &r.Writable, &r.State, &r.Reason,
		&r.Epoch, &r.Cursor, &r.Rev, &r.Whole, &digest, &r.Live, &r.PurgedRev, &shared, &synced)
	if err != nil {
		return err
	}
	r.Digest, r.SyncedAt = api.Digest(uint64(digest)), api.FromMicros(synced)
	if shared.Valid {
		r.SharedRev = &shared.Int64
	}
	return nil
}

func (t *tx) replica(n int64) (*Replica, error) {
	var r Replica
	err := scanReplica(t.row(`SELECT `+replicaColumns+` FROM replica WHERE n = ?`, n), &r)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, api.Errorf(api.CodeNotFound, "there is no such workspace on this machine")
	}
	if err != nil {
		return nil, fmt.Errorf("read the workspace's state: %w", err)
	}
	return &r, nil
}

func (t *tx) replicas() ([]Replica, error) {
	var all []Replica
	err := t.each(`SELECT `+replicaColumns+` FROM replica ORDER BY n`, nil, func(row scanner) error {
		var r Replica
		if err := scanReplica(row, &r); err != nil {
			return err
		}
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the workspaces on this machine: %w", err)
	}
	return all, nil
}

// lastReplicaSetting is the name of the setting that holds the highest number of a
// replica that is gone. None is given again: pages of the file that are not used
// any more may hold its rows, and a repair would take them for another's.
const lastReplicaSetting = "replica/last"

func (t *tx) insertReplica(r *Replica) error {
	err := t.row(`INSERT INTO replica (n, kind, remote_id, tenant_id, name, slug, is_default, writable, state, reason,
		epoch, cursor, rev, whole, digest, live, purged_rev, shared_rev, synced_at)
		VALUES (1 + MAX(COALESCE((SELECT MAX(n) FROM replica), 0), COALESCE((SELECT CAST(value AS INTEGER) FROM setting WHERE name = '`+lastReplicaSetting+`'), 0)),
		?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n`, r.values()...).Scan(&r.N)
	if err != nil {
		return fmt.Errorf("add a workspace to this machine: %w", err)
	}
	return nil
}

// deleteReplica removes a replica's record, and what hangs on that.
func (t *tx) deleteReplica(n int64) error {
	err := t.run(`INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE
		SET value = MAX(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))`, lastReplicaSetting, strconv.FormatInt(n, 10))
	if err == nil {
		err = t.run(`DELETE FROM setting WHERE name = ?`, defectSetting+strconv.FormatInt(n, 10))
	}
	if err == nil {
		err = t.run(`DELETE FROM replica WHERE n = ?`, n)
	}
	return err
}

func (t *tx) saveReplica(r *Replica) error {
	err := t.run(`UPDATE replica SET kind = ?, remote_id = ?, tenant_id = ?, name = ?, slug = ?, is_default = ?, writable = ?, state = ?,
		reason = ?, epoch = ?, cursor = ?, rev = ?, whole = ?, digest = ?, live = ?, purged_rev = ?, shared_rev = ?, synced_at = ? WHERE n = ?`,
		append(r.values(), r.N)...)
	if err != nil {
		return fmt.Errorf("write the workspace's state: %w", err)
	}
	return nil
}

func (r *Replica) values() []any {
	var shared any
	if r.SharedRev != nil {
		shared = *r.SharedRev
	}
	return []any{
		string(r.Kind), r.RemoteID, r.TenantID, r.Name, r.Slug, r.IsDefault, r.Writable, string(r.State), r.Reason,
		r.Epoch, r.Cursor, r.Rev, r.Whole, int64(r.Digest), r.Live, r.PurgedRev, shared, r.SyncedAt.Micros(),
	}
}

// Replicas are the workspaces, grants and links that this machine mirrors, the
// local one included, in the order in which they came.
func (s *Store) Replicas(ctx context.Context) ([]Replica, error) {
	var all []Replica
	err := s.read(ctx, func(tx *tx) (err error) {
		all, err = tx.replicas()
		return err
	})
	return all, err
}

// Replica is one of them; not_found where there is none with that number.
func (s *Store) Replica(ctx context.Context, n int64) (*Replica, error) {
	var r *Replica
	err := s.read(ctx, func(tx *tx) (err error) {
		r, err = tx.replica(n)
		return err
	})
	return r, err
}

// LocalName is what the replica without a server is called.
const LocalName = "Local"

// Local is the replica that has no server. It is made when it is first asked
// for, so that the first `bm add` on a machine needs nothing else.
func (s *Store) Local(ctx context.Context) (*Replica, error) {
	var r *Replica
	find := func(tx *tx) error {
		all, err := tx.replicas()
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].State == StateLocal {
				r = &all[i]
			}
		}
		return nil
	}
	if err := s.read(ctx, find); err != nil || r != nil {
		return r, err
	}
	err := s.write(ctx, durable, func(tx *tx) error {
		if err := find(tx); err != nil || r != nil {
			return err
		}
		made := Replica{Kind: KindWorkspace, Name: LocalName, Slug: "local", Writable: true, State: StateLocal}
		if err := tx.insertReplica(&made); err != nil {
			return err
		}
		r = &made
		return nil
	})
	return r, err
}

// Mirror makes a replica of a workspace, or brings what is known of it up to
// date where there is one.
func (s *Store) Mirror(ctx context.Context, w api.Workspace, writable bool) (*Replica, error) {
	var r *Replica
	err := s.write(ctx, durable, func(tx *tx) (err error) {
		if r, err = tx.mirrored(w.ID); err != nil {
			return err
		}
		if r == nil {
			r = &Replica{Kind: KindWorkspace, RemoteID: w.ID, State: StateBootstrapping}
			r.describe(w, writable)
			return tx.insertReplica(r)
		}
		before := *r
		r.describe(w, writable)
		if *r == before {
			return nil
		}
		return tx.saveReplica(r)
	})
	return r, err
}

func (t *tx) mirrored(workspaceID string) (*Replica, error) {
	all, err := t.replicas()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Kind == KindWorkspace && all[i].RemoteID == workspaceID {
			return &all[i], nil
		}
	}
	return nil, nil //nolint:nilnil // absent is an answer here
}

func (r *Replica) describe(w api.Workspace, writable bool) {
	r.TenantID, r.Name, r.Slug, r.IsDefault, r.Writable = w.TenantID, w.Name, w.Slug, w.IsDefault, writable
}

// SetState says how a replica stands with its server, and why where that needs
// a word.
func (s *Store) SetState(ctx context.Context, replica int64, state ReplicaState, reason string) error {
	return s.write(ctx, refetchable, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil || r.State == state && r.Reason == reason {
			return err
		}
		r.State, r.Reason = state, reason
		return tx.saveReplica(r)
	})
}

// Forget takes a replica off this machine with everything in it. It refuses,
// with conflict, while the server lacks edits or conflicts are undecided, whose
// values stand nowhere else, unless force is set.
func (s *Store) Forget(ctx context.Context, replica int64, force bool) error {
	return s.write(ctx, durable, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		pending, err := tx.pending(replica)
		if err != nil {
			return err
		}
		if pending > 0 && !force {
			return api.Errorf(api.CodeConflict, "%q holds %d edits that no server has: export them first, or force it", r.Name, pending)
		}
		var conflicts int
		if err := tx.row(`SELECT COUNT(*) FROM conflict WHERE replica = ?`, replica).Scan(&conflicts); err != nil {
			return fmt.Errorf("count conflicts: %w", err)
		}
		if conflicts > 0 && !force {
			return api.Errorf(api.CodeConflict, "%q holds %d values of yours in undecided conflicts: decide on them first, or force it", r.Name, conflicts)
		}
		if err := tx.unindexReplica(replica); err != nil {
			return err
		}
		if err := tx.forgetUnited(replica); err != nil {
			return err
		}
		for _, statement := range []string{
			`DELETE FROM tag WHERE replica = ?`, `DELETE FROM bookmark WHERE replica = ?`,
			`DELETE FROM folder WHERE replica = ?`,
		} {
			if err := tx.run(statement, replica); err != nil {
				return fmt.Errorf("forget the workspace: %w", err)
			}
		}
		if err := tx.deleteReplica(replica); err != nil {
			return fmt.Errorf("forget the workspace: %w", err)
		}
		return nil
	})
}

// pending counts the rows whose edits the server lacks. An edit of what is
// deleted on both sides waits for a restore, and is not to be sent.
func (t *tx) pending(replica int64) (int, error) {
	var n int
	err := t.row(`SELECT
		(SELECT COUNT(*) FROM folder WHERE replica = ?1 AND rev = 0 AND deleted_at = 0) +
		(SELECT COUNT(*) FROM bookmark WHERE replica = ?1 AND rev = 0 AND deleted_at = 0) +
		(SELECT COUNT(*) FROM folder_base x CROSS JOIN folder f ON f.n = x.n WHERE x.n > ?2 AND x.n < ?3 AND (x.deleted = 0 OR f.deleted_at = 0)) +
		(SELECT COUNT(*) FROM bookmark_base x CROSS JOIN bookmark b ON b.n = x.n WHERE x.n > ?2 AND x.n < ?3 AND (x.deleted = 0 OR b.deleted_at = 0))`,
		replica, replica*partition, (replica+1)*partition).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count unsent edits: %w", err)
	}
	return n, nil
}

// Pending counts the rows whose edits the server lacks. In a local replica
// these are all of them.
func (s *Store) Pending(ctx context.Context, replica int64) (int, error) {
	var n int
	err := s.read(ctx, func(tx *tx) (err error) {
		n, err = tx.pending(replica)
		return err
	})
	return n, err
}
