package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash/crc32"
	"strings"

	"bm/server/api"
)

// newToken is 256 random bits, as text.
func newToken() api.Secret {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: it ends the program instead
	return api.Secret(base64.RawURLEncoding.EncodeToString(raw[:]))
}

// hashSecret is how a random secret is stored and found: it has so many bits
// that no salt and no slow hash is needed.
func hashSecret(secret api.Secret) string {
	sum := sha256.Sum256([]byte(secret.Reveal()))
	return hex.EncodeToString(sum[:])
}

// NewAPIKey makes a key's secret and what is stored of it. Its last six
// characters are a checksum, so that a mistyped or cut-off key is told from an
// unknown one without asking the database.
func NewAPIKey() (secret api.Secret, hash string) {
	body := api.APIKeyPrefix + newToken().Reveal()
	secret = api.Secret(body + checksum(body))
	return secret, hashSecret(secret)
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return base64.RawURLEncoding.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

const checksumLength = 6

// plausibleKey reports whether text can be an API key at all.
func plausibleKey(text string) bool {
	if !strings.HasPrefix(text, api.APIKeyPrefix) || len(text) < len(api.APIKeyPrefix)+checksumLength {
		return false
	}
	body := text[:len(text)-checksumLength]
	return checksum(body) == text[len(body):]
}
