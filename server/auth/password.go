package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"bm/server/api"
)

// passwords hashes and compares, a few at a time: each takes 19 MiB and a
// core for tens of milliseconds.
type passwords struct {
	params *argon2id.Params
	slots  chan struct{}
	// dummy is compared where there is no account, so that an unknown
	// address takes as long as a wrong password.
	dummy string
}

func newPasswords() (*passwords, error) {
	p := &passwords{
		params: &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32},
		slots:  make(chan struct{}, 4),
	}
	dummy, err := argon2id.CreateHash(newToken().Reveal(), p.params)
	if err != nil {
		return nil, fmt.Errorf("hash a password: %w", err)
	}
	p.dummy = dummy
	return p, nil
}

func (p *passwords) slot(ctx context.Context) (release func(), err error) {
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *passwords) hash(ctx context.Context, password api.Secret) (string, error) {
	release, err := p.slot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	hash, err := argon2id.CreateHash(password.Reveal(), p.params)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return hash, nil
}

// matches compares with a stored hash; "" never matches and takes as long.
func (p *passwords) matches(ctx context.Context, password api.Secret, hash string) (bool, error) {
	release, err := p.slot(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	known := hash != ""
	if !known {
		hash = p.dummy
	}
	match, err := argon2id.ComparePasswordAndHash(password.Reveal(), hash)
	if err != nil {
		return false, fmt.Errorf("compare a password: %w", err)
	}
	return match && known, nil
}

// checkPassword says what is wrong with a password that somebody chose; "" for
// nothing. It never repeats it.
func checkPassword(password api.Secret, email string) string {
	text := password.Reveal()
	length := utf8.RuneCountInString(text)
	switch {
	case length < api.MinPassword || length > api.MaxPassword:
		return fmt.Sprintf("must have %d to %d characters", api.MinPassword, api.MaxPassword)
	case strings.EqualFold(text, email):
		return "must not be the e-mail address"
	case common(text):
		return "is too common: somebody else's guess would hit it"
	}
	return ""
}

// common reports whether a password is one of those that are tried first.
func common(password string) bool {
	lower := strings.ToLower(password)
	if distinct(lower) < 5 || sequential(lower) || repeated(lower) || walked(lower) {
		return true
	}
	for _, form := range []string{lower, leet.Replace(lower), leet.Replace(strings.Trim(lower, ornaments))} {
		core := strings.Trim(form, ornaments)
		for _, word := range commonBases {
			if core != "" && strings.Trim(strings.ReplaceAll(core, word, ""), "0123456789!@#$%._- ") == "" {
				return true
			}
		}
	}
	return false
}

// repeated reports whether a few characters come again and again.
func repeated(text string) bool {
	runes := []rune(text)
	for period := 1; period <= min(6, len(runes)/2); period++ {
		if slices.Equal(runes[period:], runes[:len(runes)-period]) {
			return true
		}
	}
	return false
}

// keyboard is how its keys lie, each row half a key to the right of the one above;
// unshifted are those on which the signs are.
var (
	keyboard  = [...]string{"1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./"}
	unshifted = strings.NewReplacer("!", "1", "@", "2", "#", "3", "$", "4", "%", "5", "^", "6", "&", "7", "*", "8", "(", "9", ")", "0",
		"_", "-", "+", "=", "{", "[", "}", "]", ":", ";", "\"", "'", "<", ",", ">", ".", "?", "/")
)

// walked reports whether text is what a hand runs through, as 112233445566 or
// 1qaz2wsx3edc, or two hands by turns, as q1w2e3r4t5y6. Words have too few such
// steps, and what is random hardly any.
func walked(text string) bool {
	keys := []rune(unshifted.Replace(text))
	var hands [2][]rune
	for i, key := range keys {
		hands[i%2] = append(hands[i%2], key)
	}
	return 10*steps(keys) >= 7*(len(keys)-1) ||
		steps(hands[0]) == len(hands[0])-1 && steps(hands[1]) == len(hands[1])-1
}

// steps is how many keys are the one before again, or lie beside it.
func steps(keys []rune) (n int) {
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] || neighbours(keys[i-1], keys[i]) || neighbours(keys[i], keys[i-1]) {
			n++
		}
	}
	return n
}

// neighbours reports whether b lies to the right of a, or right above it.
func neighbours(a, b rune) bool {
	for row, keys := range keyboard {
		column := strings.IndexRune(keys, a)
		if column < 0 {
			continue
		}
		if strings.HasPrefix(keys[column+1:], string(b)) {
			return true
		}
		if row == 0 {
			return false
		}
		above := keyboard[row-1]
		return strings.ContainsRune(above[column:min(column+2, len(above))], b)
	}
	return false
}

// ornaments are what people put around a word to make it a password.
const ornaments = "0123456789!@#$%^&*()-_=+.,:;?/\\|'\"<>[]{}~` "

var leet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")

// commonBases are the words that common passwords are built of.
var commonBases = []string{
	"password", "passwort", "passw0rd", "passwd", "letmein", "welcome", "qwerty", "qwertz", "azerty", "qwertyuiop",
	"asdfgh", "asdfghjkl", "zxcvbn", "zxcvbnm", "iloveyou", "monkey", "dragon", "football", "baseball", "superman",
	"batman", "princess", "sunshine", "shadow", "master", "admin", "administrator", "changeme", "default", "secret",
	"trustno", "starwars", "whatever", "freedom", "computer", "internet", "google", "bookmark", "bookmarks", "abcdef",
	"abc", "test", "guest", "login", "root", "user", "hello", "correcthorsebatterystaple", "mypassword", "thisismypassword",
	"spring", "summer", "autumn", "winter", "january", "february", "march", "april", "june", "july", "august", "september", "october",
	"november", "december", "michael", "jennifer", "jessica", "michelle", "ashley", "charlie", "daniel", "jordan", "thomas", "andrew",
	"liverpool", "chelsea", "arsenal", "pokemon", "soccer", "hockey", "chocolate", "butterfly", "flower", "hallo", "geheim", "schatz",
}

func distinct(text string) int {
	seen := map[rune]bool{}
	for _, r := range text {
		seen[r] = true
	}
	return len(seen)
}

// sequential reports whether each character follows the one before it, up or
// down, as in 123456789012 or abcdefghijkl.
func sequential(text string) bool {
	runes := []rune(text)
	steps := 0
	for i := 1; i < len(runes); i++ {
		d := runes[i] - runes[i-1]
		if d == 1 || d == -1 || d == -9 || d == 9 {
			steps++
		}
	}
	return steps >= len(runes)-2
}
