package client

import (
	"fmt"
	"io"

	"github.com/valyala/fastjson"

	"bm/server/api"
)

// decodeChanges decodes a page without reflection: a bootstrap is little else.
func decodeChanges(r io.Reader, page *api.ChangesPage) error {
	text, err := io.ReadAll(io.LimitReader(r, maxAnswer))
	if err != nil {
		return err
	}
	var parser fastjson.Parser
	root, err := parser.ParseBytes(text)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	d := &decoder{}
	rows := root.GetArray("data")
	page.Data = make([]api.Change, len(rows))
	for i, row := range rows {
		page.Data[i] = d.change(row)
	}
	page.Head = d.head(root)
	pagination := root.Get("pagination")
	page.Pagination.HasMore = pagination.GetBool("has_more")
	if cursor := pagination.Get("next_cursor"); cursor != nil && cursor.Type() != fastjson.TypeNull {
		text := d.text(pagination, "next_cursor")
		page.Pagination.NextCursor = &text
	}
	return d.err
}

// decodeVerdicts is the same for the answer to a push.
func decodeVerdicts(r io.Reader, answer *api.PushResponse) error {
	text, err := io.ReadAll(io.LimitReader(r, maxAnswer))
	if err != nil {
		return err
	}
	var parser fastjson.Parser
	root, err := parser.ParseBytes(text)
	if err != nil {
		return fmt.Errorf("read the verdicts: %w", err)
	}
	d := &decoder{}
	results := root.GetArray("results")
	answer.Results = make([]api.OpResult, len(results))
	for i, v := range results {
		result := api.OpResult{OpID: d.text(v, "opId"), Status: api.OpStatus(d.text(v, "status")), Rev: d.number(v, "rev"), UpdatedAt: d.time(v, "updatedAt")}
		if entity := v.Get("entity"); entity != nil {
			change := d.change(entity)
			result.Entity = &change
		}
		if failure := v.Get("error"); failure != nil {
			result.Error = &api.EnvelopeError{
				Code: api.Code(d.text(failure, "code")), Message: d.text(failure, "message"), CorrelationID: d.text(failure, "correlation_id"),
			}
			for _, detail := range failure.GetArray("details") {
				result.Error.Details = append(result.Error.Details, api.FieldError{Field: d.text(detail, "field"), Message: d.text(detail, "message")})
			}
		}
		answer.Results[i] = result
	}
	answer.Head, answer.NextCursor = d.head(root), d.text(root, "next_cursor")
	return d.err
}

// decoder reads fields, and keeps the first thing that is not as it should be.
// An absent field has its zero value.
type decoder struct{ err error }

func (d *decoder) fail(field string, err error) {
	if d.err == nil {
		d.err = fmt.Errorf("read the answer: %s: %w", field, err)
	}
}

func (d *decoder) text(v *fastjson.Value, field string) string {
	f := v.Get(field)
	if f == nil {
		return ""
	}
	raw, err := f.StringBytes()
	if err != nil {
		d.fail(field, err)
	}
	return string(raw)
}

func (d *decoder) number(v *fastjson.Value, field string) int64 {
	f := v.Get(field)
	if f == nil {
		return 0
	}
	n, err := f.Int64()
	if err != nil {
		d.fail(field, err)
	}
	return n
}

func (d *decoder) boolean(v *fastjson.Value, field string) bool {
	f := v.Get(field)
	if f == nil {
		return false
	}
	b, err := f.Bool()
	if err != nil {
		d.fail(field, err)
	}
	return b
}

func (d *decoder) time(v *fastjson.Value, field string) api.Time {
	text := d.text(v, field)
	if text == "" {
		return api.Time{}
	}
	at, err := api.ParseTime(text)
	if err != nil {
		d.fail(field, err)
	}
	return at
}

func (d *decoder) texts(v *fastjson.Value, field string) []string {
	f := v.Get(field)
	if f == nil {
		return []string{}
	}
	items, err := f.Array()
	if err != nil {
		d.fail(field, err)
	}
	list := make([]string, len(items))
	for i, item := range items {
		raw, err := item.StringBytes()
		if err != nil {
			d.fail(field, err)
		}
		list[i] = string(raw)
	}
	return list
}

func (d *decoder) extra(v *fastjson.Value) map[string]string {
	f := v.Get("extra")
	if f == nil {
		return nil
	}
	object, err := f.Object()
	if err != nil {
		d.fail("extra", err)
		return nil
	}
	values := make(map[string]string, object.Len())
	object.Visit(func(name []byte, _ *fastjson.Value) { values[string(name)] = d.text(f, string(name)) })
	return values
}

func (d *decoder) head(v *fastjson.Value) api.Head {
	head := v.Get("head")
	return api.Head{
		Epoch: d.text(head, "epoch"), Rev: d.number(head, "rev"), Digest: d.text(head, "digest"), Count: d.number(head, "count"),
		SharedRev: d.number(head, "sharedRev"), PurgedRev: d.number(head, "purgedRev"),
	}
}

func (d *decoder) change(v *fastjson.Value) api.Change {
	c := api.Change{
		Type: api.EntityType(d.text(v, "type")), ID: d.text(v, "id"), Rev: d.number(v, "rev"), Deleted: d.boolean(v, "deleted"),
	}
	if f := v.Get("folder"); f != nil {
		c.Folder = d.folder(f)
	}
	if b := v.Get("bookmark"); b != nil {
		c.Bookmark = d.bookmark(b)
	}
	return c
}

func (d *decoder) folder(v *fastjson.Value) *api.Folder {
	return &api.Folder{
		ID: d.text(v, "id"), TenantID: d.text(v, "tenantId"), WorkspaceID: d.text(v, "workspaceId"),
		Name: d.text(v, "name"), Description: d.text(v, "description"), ParentID: d.text(v, "parentId"), SortOrder: d.number(v, "sortOrder"),
		CreatedAt: d.time(v, "createdAt"), UpdatedAt: d.time(v, "updatedAt"), Extra: d.extra(v), DeletedAt: d.time(v, "deletedAt"),
	}
}

func (d *decoder) bookmark(v *fastjson.Value) *api.Bookmark {
	b := &api.Bookmark{
		ID: d.text(v, "id"), TenantID: d.text(v, "tenantId"), WorkspaceID: d.text(v, "workspaceId"),
		URL: d.text(v, "url"), Title: d.text(v, "title"), Description: d.text(v, "description"), Tags: d.texts(v, "tags"),
		FolderID: d.text(v, "folderId"), SortOrder: d.number(v, "sortOrder"), CreatedAt: d.time(v, "createdAt"), UpdatedAt: d.time(v, "updatedAt"),
		LinkStatus: api.LinkStatus(d.text(v, "linkStatus")), LastLinkCheckedAt: d.time(v, "lastLinkCheckedAt"),
		SnapshotEnabled: d.boolean(v, "snapshotEnabled"), ReaderExcerpt: d.text(v, "readerExcerpt"), VideoEmbedURL: d.text(v, "videoEmbedUrl"),
		Extra: d.extra(v), DeletedAt: d.time(v, "deletedAt"),
	}
	if archive := v.Get("archive"); archive != nil {
		b.Archive = api.Archive{
			Status: api.ArchiveStatus(d.text(archive, "status")), RetentionExpiresAt: d.time(archive, "retentionExpiresAt"),
			MetadataID: d.text(archive, "metadataId"),
		}
	}
	return b
}
