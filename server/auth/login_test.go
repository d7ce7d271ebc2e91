package auth_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/auth"
	"bm/server/ratelimit"
	"bm/server/servertest"
)

func login(t testing.TB, s *servertest.Server, email, password string) answer {
	t.Helper()
	return send(t, s, "POST", "/auth/login", "", fmt.Sprintf(`{"email":%q,"password":%q}`, email, password), "X-Correlation-ID", "same")
}

// A wrong password and an unknown address answer alike and take alike long.
func TestWrongAndUnknownAreAlike(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	join(t, s, "ada")
	var bodies []string
	took := map[string][]time.Duration{}
	for range 7 {
		for _, email := range []string{"ada@example.test", "nobody@example.test"} {
			start := time.Now()
			a := login(t, s, email, "something else entirely")
			took[email] = append(took[email], time.Since(start))
			a.want(t, api.CodeUnauthorized)
			bodies = append(bodies, a.body)
		}
	}
	bodies = append(bodies, login(t, s, "no address", "x").body, login(t, s, "", "").body, login(t, s, "ada@example.test", "").body)
	for _, body := range bodies {
		if body != bodies[0] {
			t.Errorf("%s differs from %s", body, bodies[0])
		}
	}
	median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	known, unknown := median(took["ada@example.test"]), median(took["nobody@example.test"])
	// Without the comparison an unknown address would be answered fifty times
	// as fast.
	if unknown < known/4 {
		t.Errorf("an unknown address takes %v, a wrong password %v", unknown, known)
	}
}

func TestAddressesHaveNoCase(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		s := servertest.Start(t, config)
		session := decode[api.Session](t, send(t, s, "POST", "/auth/register", "", `{"email":" Ada.L@Example.TEST ","password":"a long enough phrase","noticeVersion":"1"}`), 201)
		if session.Account.Email != "Ada.L@Example.TEST" {
			t.Errorf("the address became %q", session.Account.Email)
		}
		login(t, s, "ada.l@example.test", phrase).ok(t, 200)
		login(t, s, "  ADA.L@EXAMPLE.TEST", phrase).ok(t, 200)
		send(t, s, "POST", "/auth/register", "", `{"email":"ada.l@example.test","password":"a long enough phrase","noticeVersion":"1"}`).want(t, api.CodeConflict)
		// What was refused left nothing behind: the name of its organization is free.
		send(t, s, "POST", "/auth/register", "", `{"email":"ada.l@example.test","password":"a long enough phrase","noticeVersion":"1","organizationName":"Analytical"}`).want(t, api.CodeConflict)
		send(t, s, "POST", "/auth/register", "", `{"email":"b@example.test","password":"a long enough phrase","noticeVersion":"1","organizationName":"Analytical"}`).ok(t, 201)
		send(t, s, "POST", "/auth/register", "", `{"email":"c@example.test","password":"a long enough phrase","noticeVersion":"1","organizationName":"analytical"}`).want(t, api.CodeConflict)
	})
}

func TestRegistrationIsChecked(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	for name, c := range map[string]struct{ email, password, more, field string }{
		"no address":          {"ada", phrase, "", "body.email"},
		"an address twice":    {"a@example.test,b@example.test", phrase, "", "body.email"},
		"an address in words": {"Ada <a@example.test>", phrase, "", "body.email"},
		"a long address":      {strings.Repeat("a", 250) + "@example.test", phrase, "", "body.email"},
		"short":               {"a@example.test", "eleven chars"[:11], "", "body.password"},
		"long":                {"a@example.test", strings.Repeat("long enough ", 30), "", "body.password"},
		"common":              {"a@example.test", "password1234", "", "body.password"},
		"common, disguised":   {"a@example.test", "P@ssw0rd!2345", "", "body.password"},
		"in a row":            {"a@example.test", "abcdefghijkl", "", "body.password"},
		"one letter":          {"a@example.test", "aaaaaaaaaaaaaaa", "", "body.password"},
		"the address":         {"ada.lovelace@example.test", "Ada.Lovelace@example.test", "", "body.password"},
		"a long name":         {"a@example.test", phrase, `,"displayName":"` + strings.Repeat("x", 257) + `"`, "body.displayName"},
		"a long organization": {"a@example.test", phrase, `,"organizationName":"` + strings.Repeat("x", 257) + `"`, "body.organizationName"},
		"a long notice":       {"a@example.test", phrase, `,"noticeVersion":"` + strings.Repeat("x", 65) + `"`, "body.noticeVersion"},
	} {
		notice := `,"noticeVersion":"1"`
		if strings.Contains(c.more, "noticeVersion") {
			notice = ""
		}
		a := send(t, s, "POST", "/auth/register", "", fmt.Sprintf(`{"email":%q,"password":%q%s%s}`, c.email, c.password, notice, c.more))
		e := a.want(t, api.CodeValidation)
		if !slices.ContainsFunc(e.Details, func(d api.FieldError) bool { return d.Field == c.field }) {
			t.Errorf("%s: %+v does not name %s", name, e, c.field)
		}
		if strings.Contains(a.body, c.password) {
			t.Errorf("%s: the password is repeated", name)
		}
	}
	// The same mistakes are told alike each time.
	long := strings.Repeat("x", 257)
	for range 20 {
		e := send(t, s, "POST", "/auth/register", "", fmt.Sprintf(`{"email":"a@example.test","password":%q,"noticeVersion":"1","organizationName":%q,"displayName":%[2]q}`,
			phrase, long)).want(t, api.CodeValidation)
		if len(e.Details) != 2 || e.Details[0].Field != "body.displayName" {
			t.Fatalf("%+v", e.Details)
		}
	}
	// Twelve and 256 characters, of any script.
	for i, password := range []string{"twelve chars", strings.Repeat("ünïcödé ", 32), "пароль для двоих"} {
		body := fmt.Sprintf(`{"email":"p%d@example.test","password":%q,"noticeVersion":"1"}`, i, password)
		send(t, s, "POST", "/auth/register", "", body).ok(t, 201)
		login(t, s, fmt.Sprintf("p%d@example.test", i), password).ok(t, 200)
		login(t, s, fmt.Sprintf("p%d@example.test", i), password+" ").want(t, api.CodeUnauthorized)
	}
}

// What is refused is what lists of common passwords hold, not whatever has no
// letter: a password manager's digits are as good as any.
func TestDigitsAreCommonInAPattern(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	register := func(password string) answer {
		return send(t, s, "POST", "/auth/register", "", fmt.Sprintf(`{"email":"a%x@example.test","password":%q,"noticeVersion":"1"}`, password, password))
	}
	for _, password := range []string{
		"123456789012", "1234567891011", "098765432109", "112233445566", "123456123456", "159753159753",
		"19871987198719", "!@#$%^&*()_+", "1q1q1q1q1q1q", "1234567890-=", "12345678!@#$",
	} {
		register(password).want(t, api.CodeValidation)
	}
	for _, password := range []string{"839174650273", "314159265358", "90-31-58-72-46", "7!3?9#2%6&1*", "20480716935184"} {
		register(password).ok(t, 201)
	}
}

// What a hand runs through on the keyboard, a few characters again and again, and
// a season with its year are tried before anything that somebody thought of.
func TestWalksAndRepetitionsAreCommon(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	register := func(password string) answer {
		return send(t, s, "POST", "/auth/register", "", fmt.Sprintf(`{"email":"a%x@example.test","password":%q,"noticeVersion":"1"}`, password, password))
	}
	for _, password := range []string{
		"1q2w3e4r5t6y", "q1w2e3r4t5y6", "1qaz2wsx3edc", "!QAZ2wsx#EDC", "zaq12wsxcde3", "qazwsxedcrfv", "123qweasdzxc", "mnbvcxzlkjhg",
		"qwe123qwe123", "Summer2024!!", "december2024", "charlie12345",
	} {
		register(password).want(t, api.CodeValidation)
	}
	for _, password := range []string{
		"we were sad as we ate", "kangarookangaroo", "x7Gq0pLm2vRt", "summer is over 2024", "assess less sweets", "drew a few trees",
	} {
		register(password).ok(t, 201)
	}
}

func TestRegistrationMayBeClosed(t *testing.T) {
	for _, setting := range []auth.Registration{auth.RegistrationClosed, auth.RegistrationInvited} {
		s := servertest.Start(t, server.Config{Dir: t.TempDir(), Registration: setting})
		send(t, s, "POST", "/auth/register", "", `{"email":"a@example.test","password":"a long enough phrase","noticeVersion":"1"}`).want(t, api.CodeForbidden)
	}
}

// Five attempts in 900 seconds from an address, right or wrong, to sign in or
// to register; the rest goes on.
func TestSigningInIsLimited(t *testing.T) {
	c := newClock()
	s := servertest.Start(t, server.Config{Dir: t.TempDir(), Now: c.now, Limits: ratelimit.Stated()})
	ada := join(t, s, "ada")
	for range 2 {
		login(t, s, "ada@example.test", "wrong wrong wrong").want(t, api.CodeUnauthorized)
		login(t, s, "ada@example.test", phrase).ok(t, 200)
	}
	for range 3 {
		a := login(t, s, "ada@example.test", phrase)
		a.want(t, api.CodeRateLimited)
		if a.header.Get("X-RateLimit-Limit") != "5" || a.header.Get("X-RateLimit-Remaining") != "0" || a.header.Get("Retry-After") == "" {
			t.Errorf("headers %v", a.header)
		}
	}
	send(t, s, "POST", "/auth/register", "", `{"email":"b@example.test","password":"a long enough phrase","noticeVersion":"1"}`).want(t, api.CodeRateLimited)
	// Who is signed in already is not shut out.
	who(t, s, ada.AccessToken.Reveal()).ok(t, 200)
	decode[api.Session](t, renew(t, s, ada), 200)
	c.advance(30 * time.Minute)
	login(t, s, "ada@example.test", phrase).ok(t, 200)
}

// Of many who register one address, or one name of an organization, at the
// same moment one does.
func TestRegisteringAtOnce(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		s := servertest.Start(t, config)
		for name, body := range map[string]func(i int) string{
			"one address": func(int) string {
				return fmt.Sprintf(`{"email":"ada@example.test","password":%q,"noticeVersion":"1"}`, phrase)
			},
			"one organization": func(i int) string {
				return fmt.Sprintf(`{"email":"p%d@example.test","password":%q,"noticeVersion":"1","organizationName":"Only One"}`, i, phrase)
			},
		} {
			answers := make(chan answer, 6)
			for i := range cap(answers) {
				go func() { answers <- send(t, s, "POST", "/auth/register", "", body(i)) }()
			}
			made := 0
			for range cap(answers) {
				if a := <-answers; a.status == 201 {
					made++
				} else {
					a.want(t, api.CodeConflict)
				}
			}
			if made != 1 {
				t.Errorf("%s: %d were made", name, made)
			}
		}
		// Generated names give way to each other.
		answers := make(chan answer, 6)
		for i := range cap(answers) {
			go func() {
				answers <- send(t, s, "POST", "/auth/register", "", fmt.Sprintf(`{"email":"info@host%d.test","password":%q,"noticeVersion":"1"}`, i, phrase))
			}()
		}
		var names []string
		for range cap(answers) {
			names = append(names, decode[api.Session](t, <-answers, 201).Account.OrganizationName)
		}
		slices.Sort(names)
		if got := strings.Join(names, ","); got != "info,info 2,info 3,info 4,info 5,info 6" {
			t.Errorf("organizations %s", got)
		}
	})
}
