package rules

import "strings"

// StripTracking takes from a web URL the parameters by which services and
// campaigns tell who follows it, and leaves all else as it was, byte for byte.
// Any other URL stays what it is.
//
// It is only ever done where somebody asks for it: no list can be sure that a
// page does not need one of them.
func StripTracking(raw string) string {
	if _, _, web := splitWeb(strings.TrimSpace(raw)); !web {
		return raw
	}
	start := strings.IndexByte(raw, '?')
	end := strings.IndexByte(raw, '#')
	if end < 0 {
		end = len(raw)
	}
	if start < 0 || start > end {
		return raw
	}
	var kept []string
	for parameter := range strings.SplitSeq(raw[start+1:end], "&") {
		if name, _, _ := strings.Cut(parameter, "="); !isTracking(strings.ToLower(name)) {
			kept = append(kept, parameter)
		}
	}
	query := strings.Join(kept, "&")
	switch {
	case len(query) == end-start-1:
		return raw
	case query == "":
		return raw[:start] + raw[end:]
	}
	return raw[:start+1] + query + raw[end:]
}

// isTracking reports whether a parameter, in lower case, is one of campaigns
// (Urchin, Matomo, Piwik, HubSpot, Marketo, Vero, Omeda, Adobe) or carries the
// click of an advertiser or a mailing (Google, Meta, Microsoft, X, Yandex,
// TikTok, LinkedIn, Mailchimp, Instagram, Yahoo, Drip).
func isTracking(name string) bool {
	for _, prefix := range [...]string{"utm_", "mtm_", "matomo_", "pk_", "piwik_", "hsa_", "vero_", "oly_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "srsltid", "_ga", "_gl",
		"fbclid", "igshid", "igsh", "msclkid", "twclid", "yclid", "ysclid", "ttclid", "li_fat_id",
		"mc_cid", "mc_eid", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "mkt_tok", "s_cid", "guccounter", "guce_referrer", "guce_referrer_sig",
		"__s", "_openstat", "wickedid", "rb_clickid":
		return true
	}
	return false
}
