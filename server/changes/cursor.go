package changes

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"bm/server/api"
)

// cursor is a place in a workspace's feed.
type cursor struct {
	epoch string
	// at is the last rev that was read.
	at int64
	// upto is the head at the start of a bootstrap, which ends there; 0 for a
	// cursor of the feed itself.
	upto int64
}

func (c cursor) bootstrap() bool { return c.upto > 0 }

const sealSize = 12

// seal keeps a cursor from being made up or taken elsewhere.
func seal(key []byte, workspaceID, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("changes\x00" + workspaceID + "\x00" + text))
	return mac.Sum(nil)[:sealSize]
}

// encode is the cursor as a client holds it.
func (c cursor) encode(key []byte, workspaceID string) string {
	text := fmt.Sprintf("%s %d %d", c.epoch, c.at, c.upto)
	return base64.RawURLEncoding.EncodeToString(append(seal(key, workspaceID, text), text...))
}

// parseCursor reads what encode wrote; field is where the request holds it.
func parseCursor(key []byte, workspaceID, sealed, field string) (c cursor, err error) {
	bad := api.Invalid(field, "is not one that this feed gave out")
	raw, decodeErr := base64.RawURLEncoding.DecodeString(sealed)
	// The decoder passes over line breaks and over bits that stand for nothing.
	if decodeErr != nil || len(raw) < sealSize || base64.RawURLEncoding.EncodeToString(raw) != sealed {
		return c, bad
	}
	text := string(raw[sealSize:])
	if !hmac.Equal(raw[:sealSize], seal(key, workspaceID, text)) {
		return c, bad
	}
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return c, bad
	}
	c.epoch = parts[0]
	at, atErr := strconv.ParseInt(parts[1], 10, 64)
	upto, uptoErr := strconv.ParseInt(parts[2], 10, 64)
	if atErr != nil || uptoErr != nil {
		return c, bad
	}
	c.at, c.upto = at, upto
	return c, nil
}
