package api

// ImportSummary says what became of every entry of an import:
// Imported + Skipped + DuplicatesSkipped is the number of entries in the file.
type ImportSummary struct {
	Imported          int                  `json:"imported"`
	Skipped           int                  `json:"skipped"`
	DuplicatesSkipped int                  `json:"duplicatesSkipped"`
	Errors            []ImportSummaryIssue `json:"errors" doc:"Entries that could not be stored"`
	Issues            []ImportSummaryIssue `json:"issues" doc:"Entries that were stored with a change"`
}

// ImportSummaryIssue is about one entry of an import.
type ImportSummaryIssue struct {
	Index   int    `json:"index" doc:"Position in the file, from 0"`
	Line    int    `json:"line,omitempty" doc:"Line in the file, from 1"`
	URL     string `json:"url,omitempty"`
	Title   string `json:"title,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of an [ImportSummaryIssue].
const (
	IssueURLTooLong     = "url_too_long"     // error: not stored
	IssueTooMany        = "too_many_entries" // error: beyond the limit of entries
	IssueUnreadable     = "unreadable"       // error: not an entry at all
	IssueURLNotAbsolute = "url_not_absolute" // kept as it is
	IssueTitleCut       = "title_cut"        // cut to the limit
	IssueDescriptionCut = "description_cut"  // cut to the limit
	IssueTagsCut        = "tags_cut"         // cut to the limits
	IssueDepthCut       = "depth_cut"        // put at the deepest level allowed
	IssueExtraDropped   = "extra_dropped"    // attributes over the limit
	IssueDateUnreadable = "date_unreadable"  // the date of the import stands in
	IssueTextRepaired   = "text_repaired"    // NUL or invalid UTF-8 replaced
)

// ExportDocument is the JSON export: what import reads back.
type ExportDocument struct {
	Version    int        `json:"version" enum:"1"`
	ExportedAt Time       `json:"exportedAt"`
	Workspace  Workspace  `json:"workspace"`
	Folders    []Folder   `json:"folders"`
	Bookmarks  []Bookmark `json:"bookmarks"`
}
