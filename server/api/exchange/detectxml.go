package exchange

import "bytes"

// xmlFormat tells XML files apart by their outermost element; "" for what is no
// XML that bm knows.
func xmlFormat(head []byte) Format {
	if !bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")) {
		return ""
	}
	m := newMarkup("", bytes.NewReader(head), false)
	for {
		found, err := m.next()
		if err != nil {
			return ""
		}
		if found == opens {
			break
		}
	}
	switch string(m.name) {
	case "xbel":
		return XBEL
	}
	return ""
}
