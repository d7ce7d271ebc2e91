package exchange

import "bytes"

// xmlFormat tells XML files apart by their outermost element, and knows the binary
// form of one of them; "" for what is no XML that bm knows.
func xmlFormat(head []byte) Format {
	if isBinaryPlist(head) && bytes.Contains(head, []byte(safariMark)) {
		return SafariPlist
	}
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
	case "opml":
		return OPML
	case "posts":
		return PinboardXML
	case "plist":
		if bytes.Contains(head, []byte(safariMark)) {
			return SafariPlist
		}
	}
	return ""
}
