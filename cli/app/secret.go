package app

import (
	"errors"
	"fmt"
	"io"
	"net/mail"
	"unicode/utf8"

	"bm/cli/output"
	"bm/server/api"
)

// AskSecret asks for a secret, such as "password", without showing it; where
// there is no terminal it is the first line of the input.
func (a *App) AskSecret(what, question string) (api.Secret, error) {
	text, err := a.IO.AskPassword(question)
	if errors.Is(err, output.ErrNoTerminal) {
		if a.IO.InTTY { // which would show what is typed
			return "", Fail(Usage, "The %s can't be asked for: the standard error is no terminal.", what).
				Try("the same command without 2> …")
		}
		text, err = a.IO.ReadLine()
	}
	unasked := errors.Is(err, output.ErrNoAnswer) || errors.Is(err, output.ErrInterrupted) || errors.Is(err, io.EOF)
	if err != nil && !unasked { // there may be one, which is not what was given
		return "", Fail(Failed, "There is no %s: %s.", what, Plain(err)).Because(err)
	}
	if err != nil || text == "" {
		return "", Fail(Usage, "There is no %s.", what).Try("type it on a terminal, or give it on the standard input").Because(err)
	}
	return api.Secret(text), nil
}

// NewPassword asks for a password that is to be an account's: twice where nobody
// sees what is typed. What no server takes is refused at once; next is the command
// that asks anew.
func (a *App) NewPassword(question, next string) (api.Secret, error) {
	password, err := a.AskSecret("password", fmt.Sprintf("%s, at least %d characters", question, api.MinPassword))
	if err != nil {
		return "", err
	}
	if n := utf8.RuneCountInString(password.Reveal()); n < api.MinPassword || n > api.MaxPassword {
		return "", Fail(Usage, "The password must have %d to %d characters.", api.MinPassword, api.MaxPassword).Try("%s", next)
	}
	if !a.IO.CanAsk() {
		return password, nil
	}
	again, err := a.AskSecret("password", "The same password again")
	if err != nil {
		return "", err
	}
	if again != password {
		return "", Fail(Usage, "The two passwords differ.").Try("%s", next)
	}
	return password, nil
}

// MustBeEmail refuses what is no e-mail address, before anybody types a password for
// it. next is the command with a right one.
func MustBeEmail(text, next string) error {
	if at, err := mail.ParseAddress(text); err != nil || at.Address != text {
		return Fail(Usage, "%q is not an e-mail address.", output.Clean(text)).Try("%s", next)
	}
	return nil
}
