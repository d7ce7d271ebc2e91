package exchange

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// safariBinary reads Safari's tree from a binary property list.
type safariBinary struct {
	list *binaryPlist
	tree safariTree
	// met are the folders and lists of children so far, by their numbers: each is
	// read once, so that no more can come out than there is in the file.
	met     map[uint64]bool
	keepRaw bool
}

func readSafariBinary(src *source) stream {
	return func(out *outlet) error {
		file, size, err := src.twice()
		if err != nil {
			return err
		}
		list, top, err := openBinaryPlist(file, size)
		if err == nil {
			s := &safariBinary{list, safariTree{out}, map[uint64]bool{}, out.keepRaw}
			err = s.node(top, Root, 0)
		}
		if err != nil && !errors.Is(err, errStopped) {
			return &SyntaxError{Format: SafariPlist, Err: err}
		}
		return err
	}
}

// node reads a dictionary of the tree; whatever else stands in its place is
// passed over.
func (s *safariBinary) node(number uint64, parent, depth int) error {
	dict, err := s.list.object(number)
	if err != nil || dict.kind != plistDict {
		return err
	}
	n, children, err := s.read(dict)
	if err != nil {
		return err
	}
	if children == nil {
		var raw []byte
		if s.keepRaw && n.kind != safariList && n.kind != safariProxy {
			if raw, err = s.list.appendXML(nil, number, 0); err != nil {
				return err
			}
		}
		return s.tree.leaf(&n, parent, depth, 0, raw)
	}
	if depth == maxDepth {
		return errTooDeep
	}
	if err := s.once(number, *children); err != nil {
		return err
	}
	if parent, err = s.tree.folder(&n, parent, depth, 0); err != nil {
		return err
	}
	for i := range children.count {
		child, err := s.list.member(*children, i)
		if err == nil {
			err = s.node(child, parent, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// once refuses a folder, or a list of children, that was there before. Those in
// which there is nothing may be one object for all.
func (s *safariBinary) once(number uint64, children plistObject) error {
	if children.count == 0 {
		return nil
	}
	if s.met[number] {
		return errPlistTwice
	}
	if len(s.met) == 2*maxHeld {
		return errTooMany
	}
	s.met[number] = true
	return nil
}

// read reads the values of a node; its list of children, if it has one.
func (s *safariBinary) read(dict plistObject) (n safariNode, children *plistObject, err error) {
	err = s.each(dict, func(key string, number uint64, o plistObject) error {
		switch {
		case o.kind == plistArray && key == "Children" && children == nil:
			children = &o
			return s.once(number, o)
		case o.kind == plistDict && isSafariDictionary(key):
			return s.each(o, func(inner string, _ uint64, o plistObject) error { return s.set(&n, key, inner, o) })
		}
		return s.set(&n, "", key, o)
	})
	return n, children, err
}

// each tells the keys and values of a dictionary.
func (s *safariBinary) each(dict plistObject, tell func(key string, number uint64, o plistObject) error) error {
	for i := range dict.count {
		key, err := s.list.key(dict, i)
		if err != nil {
			return err
		}
		number, err := s.list.value(dict, i)
		if err != nil {
			return err
		}
		o, err := s.list.object(number)
		if err != nil {
			return err
		}
		if err := tell(key, number, o); err != nil {
			return err
		}
	}
	return nil
}

func (s *safariBinary) set(n *safariNode, within, key string, o plistObject) (err error) {
	value := ""
	switch o.kind {
	case plistASCII, plistUTF16:
		value, err = s.list.text(o)
	case plistDate:
		value, err = s.list.date(o)
	default:
		return nil
	}
	n.set(within, key, value)
	return err
}

// maxPlistDepth is how deep the values of one bookmark may lie in each other.
const maxPlistDepth = 16

// appendXML appends an object in the XML form of property lists.
func (p *binaryPlist) appendXML(dst []byte, number uint64, depth int) ([]byte, error) {
	o, err := p.object(number)
	if err != nil {
		return dst, err
	}
	if depth == maxPlistDepth || len(dst) > maxElement {
		return dst, errTooMuch
	}
	switch o.kind {
	case plistDict:
		return p.appendDict(dst, o, depth)
	case plistArray:
		dst = append(dst, "<array>"...)
		for i := range o.count {
			member, err := p.member(o, i)
			if err == nil {
				dst, err = p.appendXML(dst, member, depth+1)
			}
			if err != nil {
				return dst, err
			}
		}
		return append(dst, "</array>"...), nil
	}
	return p.appendValue(dst, o)
}

func (p *binaryPlist) appendDict(dst []byte, o plistObject, depth int) ([]byte, error) {
	dst = append(dst, "<dict>"...)
	for i := range o.count {
		key, err := p.key(o, i)
		if err != nil {
			return dst, err
		}
		dst = append(append(append(dst, "\n<key>"...), xmlText.Replace(replaceForXML(key))...), "</key>"...)
		value, err := p.value(o, i)
		if err == nil {
			dst, err = p.appendXML(dst, value, depth+1)
		}
		if err != nil {
			return dst, err
		}
	}
	return append(dst, "\n</dict>"...), nil
}

// appendValue appends what has nothing in it.
func (p *binaryPlist) appendValue(dst []byte, o plistObject) ([]byte, error) {
	element, value := "", ""
	var err error
	switch o.kind {
	case plistASCII, plistUTF16:
		element = "string"
		value, err = p.text(o)
	case plistDate:
		element = "date"
		value, err = p.date(o)
	case plistInteger:
		element = "integer"
		value, err = p.integer(o)
	case plistReal:
		element = "real"
		value, err = p.real(o)
	case plistData:
		var data []byte
		data, err = p.read(o.at, min(o.count, maxElement))
		element, value = "data", base64.StdEncoding.EncodeToString(data)
	case plistSimple:
		if o.count == 9 {
			return append(dst, "<true/>"...), nil
		}
		return append(dst, "<false/>"...), nil
	default:
		return append(dst, "<string></string>"...), nil // what Safari has no use for
	}
	value = xmlText.Replace(replaceForXML(value))
	return fmt.Appendf(dst, "<%s>%s</%s>", element, value, element), err
}

func (p *binaryPlist) integer(o plistObject) (string, error) {
	switch {
	case o.count < 3: // those of one to four bytes have no sign
		n, err := p.number(o.at, 1<<o.count)
		return strconv.FormatUint(n, 10), err
	case o.count > 4:
		return "", errPlist
	}
	// Of sixteen bytes, as unsigned ones of eight are written, the last eight count.
	n, err := p.number(o.at+int64(1<<o.count-8), 8)
	if o.count == 4 {
		return strconv.FormatUint(n, 10), err
	}
	return strconv.FormatInt(int64(n), 10), err
}

func (p *binaryPlist) real(o plistObject) (string, error) {
	if o.count != 2 && o.count != 3 {
		return "", errPlist
	}
	n, err := p.number(o.at, 1<<o.count)
	value := math.Float64frombits(n)
	if o.count == 2 {
		value = float64(math.Float32frombits(uint32(n)))
	}
	return strconv.FormatFloat(value, 'g', -1, 64), err
}
