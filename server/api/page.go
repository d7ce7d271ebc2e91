package api

// Pagination tells a reader of pages how to go on.
type Pagination struct {
	// NextCursor is null at the end of the list. The change feed's is never
	// null: it is where the next pull goes on.
	NextCursor *string `json:"next_cursor"`
	HasMore    bool    `json:"has_more"`
}

// Page is the cursor form of a list.
type Page[T any] struct {
	Data       []T        `json:"data"`
	Pagination Pagination `json:"pagination"`
}
