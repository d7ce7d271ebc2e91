package exchange

import (
	"errors"
	"io"
)

// safariXML reads Safari's tree from a property list in XML. A folder's title
// stands behind all that is in it, so that the list is read twice: for the
// folders alone, and then for everything.
type safariXML struct {
	m       *markup
	tree    safariTree
	folders []safariNode // in the order in which they begin
	begun   int          // how many of them have
	first   bool         // whether this is the first reading
}

func readSafariXML(src *source) stream {
	return func(out *outlet) error {
		text, size, err := src.twice()
		if err != nil {
			return err
		}
		s := &safariXML{first: true, m: newMarkup(SafariPlist, io.NewSectionReader(text, 0, size), false)}
		if err := s.file(); err != nil {
			// What is damaged is read as far as it goes, and said then.
			if _, damaged := errors.AsType[*SyntaxError](err); !damaged {
				return &SyntaxError{SafariPlist, s.m.line, err}
			}
		}
		s.first, s.begun, s.tree = false, 0, safariTree{out}
		s.m = newMarkup(SafariPlist, io.NewSectionReader(text, 0, size), out.keepRaw)
		return s.file()
	}
}

// file reads the one dictionary of a property list.
func (s *safariXML) file() error {
	for {
		found, err := s.m.next()
		if err == nil && found == opens && string(s.m.name) == "dict" {
			err = s.node(Root, 0)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// node reads a dictionary of the tree.
func (s *safariXML) node(parent, depth int) error {
	line := s.m.line
	s.m.startRaw()
	var n safariNode
	folder := -1 // its place among the folders
	for key := ""; ; {
		found, err := s.m.next()
		switch {
		case err != nil:
			return err
		case found == closes:
			return s.end(&n, folder, parent, depth, line)
		case found != opens:
			continue
		}
		switch name := string(s.m.name); {
		case name == "key":
			key, err = s.m.content()
		case name == "array" && key == "Children" && folder < 0:
			folder, err = s.children(parent, depth, line)
		case name == "dict" && isSafariDictionary(key):
			err = s.dictionary(&n, key)
		case name == "array" || name == "dict" || name == "data":
			err = s.m.skip()
		default:
			err = s.value(&n, "", key)
		}
		if err != nil {
			return err
		}
	}
}

// end tells of a node behind its end.
func (s *safariXML) end(n *safariNode, folder, parent, depth, line int) error {
	switch {
	case folder >= 0 && s.first:
		s.folders[folder] = *n
	case folder >= 0 || s.first:
	default:
		return s.tree.leaf(n, parent, depth, line, s.m.endRaw())
	}
	return nil
}

// children reads what is in a folder, which is known by the place among all.
func (s *safariXML) children(parent, depth, line int) (folder int, err error) {
	folder = s.begun
	s.begun++
	if s.first {
		if len(s.folders) == maxHeld {
			return folder, errTooMany
		}
		s.folders = append(s.folders, safariNode{})
	} else if parent, err = s.tree.folder(&s.folders[folder], parent, depth, line); err != nil {
		return folder, err
	}
	for {
		found, err := s.m.next()
		if err != nil || found == closes {
			return folder, err
		}
		if found != opens {
			continue
		}
		if string(s.m.name) == "dict" {
			err = s.node(parent, depth+1)
		} else {
			err = s.m.skip()
		}
		if err != nil {
			return folder, err
		}
	}
}

// dictionary reads a dictionary of a node's own.
func (s *safariXML) dictionary(n *safariNode, within string) error {
	for key := ""; ; {
		found, err := s.m.next()
		if err != nil || found == closes {
			return err
		}
		if found != opens {
			continue
		}
		switch string(s.m.name) {
		case "key":
			key, err = s.m.content()
		case "array", "dict", "data":
			err = s.m.skip()
		default:
			err = s.value(n, within, key)
		}
		if err != nil {
			return err
		}
	}
}

func (s *safariXML) value(n *safariNode, within, key string) error {
	text, err := s.m.content()
	if err == nil {
		n.set(within, key, text)
	}
	return err
}
