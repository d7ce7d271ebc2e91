package output

import (
	"fmt"
	"time"
)

// Ago tells an instant as people do: how long ago where that says more than a
// date.
func Ago(now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	age := now.Sub(at)
	switch {
	case age < -time.Minute:
		return at.Local().Format("2006-01-02")
	case age < 45*time.Second:
		return "just now"
	case age < time.Hour:
		return fmt.Sprintf("%d min ago", max(1, int(age.Round(time.Minute).Minutes())))
	case age < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(age.Hours()))
	case age < 14*24*time.Hour:
		return plural(int(age.Hours()/24), "day") + " ago"
	}
	return at.Local().Format("2006-01-02")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Plural counts things in words: 1 bookmark, 2 bookmarks.
func Plural(n int, noun string) string { return plural(n, noun) }
