-- A command looks for those that were undone before it, of which there is seldom one.
CREATE INDEX journal_undone ON journal (n) WHERE undone = 1;
