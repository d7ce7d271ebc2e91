package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the bookmark as encoding/json would write it without
// HTML's escapes. Lists and the change feed are little else than this, and
// reflection would cost several times as much as reading the row.
func (b *Bookmark) AppendJSON(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.text("id", b.ID)
	o.text("tenantId", b.TenantID)
	o.text("workspaceId", b.WorkspaceID)
	o.textIfAny("url", b.URL)
	o.text("title", b.Title)
	o.text("description", b.Description)
	o.texts("tags", b.Tags)
	o.textIfAny("folderId", b.FolderID)
	o.number("sortOrder", b.SortOrder)
	o.time("createdAt", b.CreatedAt)
	o.time("updatedAt", b.UpdatedAt)
	o.text("linkStatus", string(b.LinkStatus))
	o.timeIfAny("lastLinkCheckedAt", b.LastLinkCheckedAt)
	o.boolean("snapshotEnabled", b.SnapshotEnabled)
	o.textIfAny("readerExcerpt", b.ReaderExcerpt)
	o.textIfAny("videoEmbedUrl", b.VideoEmbedURL)
	o.name("archive")
	archive := object{append(o.dst, '{')}
	archive.text("status", string(b.Archive.Status))
	archive.timeIfAny("retentionExpiresAt", b.Archive.RetentionExpiresAt)
	archive.textIfAny("metadataId", b.Archive.MetadataID)
	o.dst = append(archive.dst, '}')
	o.extra(b.Extra)
	o.timeIfAny("deletedAt", b.DeletedAt)
	return append(o.dst, '}')
}

// AppendJSON appends the folder as encoding/json would write it without
// HTML's escapes.
func (f *Folder) AppendJSON(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.text("id", f.ID)
	o.text("tenantId", f.TenantID)
	o.text("workspaceId", f.WorkspaceID)
	o.text("name", f.Name)
	o.text("description", f.Description)
	o.textIfAny("parentId", f.ParentID)
	o.number("sortOrder", f.SortOrder)
	o.time("createdAt", f.CreatedAt)
	o.time("updatedAt", f.UpdatedAt)
	o.extra(f.Extra)
	o.timeIfAny("deletedAt", f.DeletedAt)
	return append(o.dst, '}')
}

// AppendJSON appends the change.
func (c *Change) AppendJSON(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.text("type", string(c.Type))
	o.text("id", c.ID)
	o.number("rev", c.Rev)
	if c.Deleted {
		o.boolean("deleted", true)
	}
	if c.Folder != nil {
		o.name("folder")
		o.dst = c.Folder.AppendJSON(o.dst)
	}
	if c.Bookmark != nil {
		o.name("bookmark")
		o.dst = c.Bookmark.AppendJSON(o.dst)
	}
	return append(o.dst, '}')
}

// AppendJSON appends the head.
func (h *Head) AppendJSON(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.text("epoch", h.Epoch)
	o.number("rev", h.Rev)
	o.text("digest", h.Digest)
	o.number("count", h.Count)
	o.number("sharedRev", h.SharedRev)
	o.number("purgedRev", h.PurgedRev)
	return append(o.dst, '}')
}

// AppendJSON appends the pagination.
func (p *Pagination) AppendJSON(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.name("next_cursor")
	if p.NextCursor == nil {
		o.dst = append(o.dst, "null"...)
	} else {
		o.dst = AppendString(o.dst, *p.NextCursor)
	}
	o.boolean("has_more", p.HasMore)
	return append(o.dst, '}')
}

// AppendJSON appends the request.
func (r *PushRequest) AppendJSON(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.textIfAny("epoch", r.Epoch)
	o.textIfAny("cursor", r.Cursor)
	o.name("ops")
	o.dst = append(o.dst, '[')
	for i := range r.Ops {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = r.Ops[i].AppendJSON(o.dst)
	}
	return append(o.dst, ']', '}')
}

// AppendJSON appends the op, and what it sets as it is.
func (op *Op) AppendJSON(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.text("opId", op.OpID)
	o.text("action", string(op.Action))
	o.text("type", string(op.Type))
	o.text("id", op.ID)
	if op.BaseRev != 0 {
		o.number("baseRev", op.BaseRev)
	}
	if len(op.Set) > 0 {
		o.name("set")
		o.dst = append(o.dst, op.Set...)
	}
	return append(o.dst, '}')
}

// AppendJSON appends the verdicts of a push.
func (r *PushResponse) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"results":[`...)
	for i := range r.Results {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = r.Results[i].AppendJSON(dst)
	}
	o := object{append(dst, ']')}
	o.name("head")
	o.dst = r.Head.AppendJSON(o.dst)
	o.textIfAny("next_cursor", r.NextCursor)
	return append(o.dst, '}')
}

// AppendJSON appends the verdict.
func (r *OpResult) AppendJSON(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.text("opId", r.OpID)
	o.text("status", string(r.Status))
	if r.Rev != 0 {
		o.number("rev", r.Rev)
	}
	if r.Entity != nil {
		o.name("entity")
		o.dst = r.Entity.AppendJSON(o.dst)
	}
	o.timeIfAny("updatedAt", r.UpdatedAt)
	if r.Error != nil {
		o.name("error")
		failure := object{append(o.dst, '{')}
		failure.text("code", string(r.Error.Code))
		failure.text("message", r.Error.Message)
		failure.text("correlation_id", r.Error.CorrelationID)
		failure.details(r.Error.Details)
		o.dst = append(failure.dst, '}')
	}
	return append(o.dst, '}')
}

func (o *object) details(list []FieldError) {
	if len(list) == 0 {
		return
	}
	o.name("details")
	o.dst = append(o.dst, '[')
	for i := range list {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		detail := object{append(o.dst, '{')}
		detail.text("field", list[i].Field)
		detail.text("message", list[i].Message)
		o.dst = append(detail.dst, '}')
	}
	o.dst = append(o.dst, ']')
}

// object is a JSON object being written.
type object struct{ dst []byte }

func (o *object) name(name string) {
	if o.dst[len(o.dst)-1] != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

func (o *object) text(name, value string) {
	o.name(name)
	o.dst = AppendString(o.dst, value)
}

func (o *object) textIfAny(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *object) texts(name string, values []string) {
	o.name(name)
	o.dst = append(o.dst, '[')
	for i, value := range values {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = AppendString(o.dst, value)
	}
	o.dst = append(o.dst, ']')
}

func (o *object) number(name string, value int64) {
	o.name(name)
	o.dst = strconv.AppendInt(o.dst, value, 10)
}

func (o *object) boolean(name string, value bool) {
	o.name(name)
	o.dst = strconv.AppendBool(o.dst, value)
}

func (o *object) time(name string, value Time) {
	o.name(name)
	o.dst = value.AppendJSON(o.dst)
}

func (o *object) timeIfAny(name string, value Time) {
	if !value.IsZero() {
		o.time(name, value)
	}
}

func (o *object) extra(values map[string]string) {
	if len(values) == 0 {
		return
	}
	o.name("extra")
	inner := object{append(o.dst, '{')}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		inner.text(name, values[name])
	}
	o.dst = append(inner.dst, '}')
}

// AppendString appends a JSON string. What is not plain ASCII is left to
// encoding/json where it could need an escape.
func AppendString(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c == 0x7f {
			return appendEscaped(dst, s)
		} else if c >= utf8.RuneSelf {
			// U+2028 and U+2029 are escaped, and so is invalid UTF-8.
			if !utf8.ValidString(s) || mayHoldSeparator(s[i:]) {
				return appendEscaped(dst, s)
			}
			break
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// mayHoldSeparator reports whether s holds anything that AppendString's first
// look, which ends at the first byte beyond ASCII, would have found, or the
// first byte of a line separator.
func mayHoldSeparator(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c == 0x7f || c == 0xe2 && i+1 < len(s) && s[i+1] == 0x80 {
			return true
		}
	}
	return false
}

func appendEscaped(dst []byte, s string) []byte {
	raw, err := json.Marshal(s)
	if err != nil {
		return append(dst, '"', '"') // a string always has a form
	}
	return append(dst, unescapeHTML(raw)...)
}

// unescapeHTML takes back the escapes of <, > and &, which a JSON body that is
// never put into a page does not need.
func unescapeHTML(raw []byte) []byte {
	out := raw[:0:0]
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			continue
		}
		if raw[i+1] == 'u' && i+6 <= len(raw) {
			switch string(raw[i+2 : i+6]) {
			case "003c":
				out, i = append(out, '<'), i+5
				continue
			case "003e":
				out, i = append(out, '>'), i+5
				continue
			case "0026":
				out, i = append(out, '&'), i+5
				continue
			}
		}
		out = append(out, raw[i], raw[i+1])
		i++
	}
	return out
}
