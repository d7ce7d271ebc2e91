package exchange

import (
	"errors"
	"fmt"
	"io"

	"bm/server/api"
	"bm/server/api/rules"
)

// An alias of XBEL is a second place of the same bookmark, which it names by an
// id. What it repeats is read again where that stands: of a file's bookmarks those
// alone are remembered that an alias refers to, and of these where they begin.

// xbelTarget is what an alias refers to.
type xbelTarget struct {
	at     int64
	folder bool
}

// aliasesFor is how many bytes the aliases of a file may have read once more. A
// bookmark of some length that is repeated without end would take a small file for
// ever; an alias takes some bytes itself.
func aliasesFor(size int64) int64 { return 16*size + 1<<20 }

// maxID is how long an id may be that an alias can name.
const maxID = 256

var errTooManyAliases = errors.New("the aliases in it repeat far more than the file holds")

// findAliased looks for what the aliases of a file refer to, if there are any, and
// gives the text that is to be read then.
func (x *xbelReader) findAliased(src *source) (text io.Reader, err error) {
	aliases, err := src.mentions("alias")
	if err != nil || !aliases {
		return src.text, err
	}
	if x.file, x.size, err = src.twice(); err != nil {
		return nil, err
	}
	x.repeats = aliasesFor(x.size)
	x.targets, err = findTargets(x.file, x.size)
	return io.NewSectionReader(x.file, 0, x.size), err
}

// findTargets looks for what the aliases of a file refer to.
func findTargets(file io.ReaderAt, size int64) (map[string]xbelTarget, error) {
	wanted := map[string]bool{}
	err := eachElement(file, size, func(m *markup) error {
		if string(m.name) != "alias" {
			return nil
		}
		if len(wanted) == maxHeld {
			return errTooMany
		}
		wanted[attribute(m, "ref")] = true
		return nil
	})
	delete(wanted, "")
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	targets := make(map[string]xbelTarget, len(wanted))
	return targets, eachElement(file, size, func(m *markup) error {
		folder := string(m.name) == "folder"
		if !folder && string(m.name) != "bookmark" {
			return nil
		}
		id := attribute(m, "id")
		if _, dup := targets[id]; !dup && wanted[id] {
			targets[id] = xbelTarget{m.at, folder}
		}
		return nil
	})
}

// attribute is one of the element that was opened; "" if it has none of the name,
// or one that is longer than any id.
func attribute(m *markup, wanted string) string {
	for name, value := range m.attributes() {
		if string(name) == wanted && len(value) <= maxID {
			return string(value)
		}
	}
	return ""
}

// eachElement goes through the elements of a file. Where it is damaged, the last
// reading says so.
func eachElement(file io.ReaderAt, size int64, visit func(*markup) error) error {
	m := newMarkup(XBEL, io.NewSectionReader(file, 0, size), false)
	for {
		found, err := m.next()
		if _, damaged := errors.AsType[*SyntaxError](err); damaged || errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && found == opens {
			err = visit(m)
		}
		if err != nil {
			return &SyntaxError{XBEL, m.line, err}
		}
	}
}

// alias hands out the bookmark that an alias refers to once more.
func (x *xbelReader) alias(parent int) error {
	line, ref := x.m.line, attribute(x.m, "ref")
	raw := x.m.rawTag()
	target, found := x.targets[ref]
	n := &xbelNode{Entry: &Entry{Kind: Bookmark}}
	switch {
	case !found:
		n.Broken = &rules.Issue{Code: api.IssueUnreadable, Message: fmt.Sprintf("this is an alias of %q, which is not in the file", ref)}
	case target.folder:
		n.Broken = &rules.Issue{Code: api.IssueUnreadable, Message: fmt.Sprintf("this is an alias of %q, which is a folder", ref)}
	default:
		at := newXBELMarkup(io.NewSectionReader(x.file, target.at, x.size-target.at), x.out.keepRaw)
		if _, err := at.next(); err != nil {
			return err
		}
		n = newXBELNode(at, Bookmark, parent)
		if err := n.whole(at); err != nil {
			return err
		}
		raw = n.Raw
		if x.repeats -= at.at; x.repeats < 0 {
			return &SyntaxError{XBEL, line, errTooManyAliases}
		}
	}
	n.Line, n.Parent, n.Raw = line, parent, raw
	if _, err := x.out.add(n.settled()); err != nil {
		return err
	}
	return x.m.skip()
}
