package browser

// Engine is what a browser is made of, which decides how it keeps bookmarks.
type Engine int

// The engines.
const (
	Firefox Engine = iota // profiles.ini, and places.sqlite in each profile
	Chrome                // Local State, and a file Bookmarks in each profile
	Safari                // one file
)

// base is a folder of the system that places are below.
type base int

const (
	home    base = iota
	config       // XDG_CONFIG_HOME
	support      // Application Support of macOS
	local        // LOCALAPPDATA of Windows
	roaming      // APPDATA of Windows
)

// place is a folder in which a browser keeps its profiles.
type place struct {
	below base
	path  string
	kind  string // how the browser was installed; "" is the usual way
}

// browser is a browser that bm knows.
type browser struct {
	id, title              string
	engine                 Engine
	linux, darwin, windows []place
}

// How a browser was installed where that decides on its folder. Of Firefox's
// first place there are two: since version 147 it follows XDG_CONFIG_HOME.
const (
	snap    = "snap"
	flatpak = "flatpak"
	store   = "store" // of Windows
)

// known are the browsers. Where one has several places on a system, they are
// looked at in this order.
var known = []browser{
	{
		id: "firefox", title: "Firefox", engine: Firefox,
		linux: []place{
			{below: home, path: ".mozilla/firefox"},
			{below: config, path: "mozilla/firefox"},
			{home, "snap/firefox/common/.mozilla/firefox", snap},
			{home, ".var/app/org.mozilla.firefox/.mozilla/firefox", flatpak},
			{home, ".var/app/org.mozilla.firefox/config/mozilla/firefox", flatpak},
		},
		darwin: []place{{below: support, path: "Firefox"}},
		windows: []place{
			{below: roaming, path: "Mozilla/Firefox"},
			{local, "Packages/Mozilla.Firefox_n80bbvh6b1yt2/LocalCache/Roaming/Mozilla/Firefox", store},
		},
	},
	{
		id: "librewolf", title: "LibreWolf", engine: Firefox,
		linux: []place{
			{below: home, path: ".librewolf"},
			{below: config, path: "librewolf/librewolf"},
			{below: config, path: "librewolf"},
			{home, ".var/app/io.gitlab.librewolf-community/.librewolf", flatpak},
			{home, ".var/app/io.gitlab.librewolf-community/config/librewolf/librewolf", flatpak},
		},
		darwin:  []place{{below: support, path: "LibreWolf"}},
		windows: []place{{below: roaming, path: "librewolf"}},
	},
	{
		id: "waterfox", title: "Waterfox", engine: Firefox,
		linux: []place{
			{below: home, path: ".waterfox"},
			{below: config, path: "waterfox"},
			{home, ".var/app/net.waterfox.waterfox/.waterfox", flatpak},
		},
		darwin:  []place{{below: support, path: "Waterfox"}},
		windows: []place{{below: roaming, path: "Waterfox"}},
	},
	{
		id: "zen", title: "Zen", engine: Firefox,
		linux: []place{
			{below: home, path: ".zen"},
			{below: config, path: "zen"},
			{home, ".var/app/app.zen_browser.zen/.zen", flatpak},
			{home, ".var/app/app.zen_browser.zen/config/zen", flatpak},
		},
		darwin:  []place{{below: support, path: "zen"}},
		windows: []place{{below: roaming, path: "zen"}},
	},
	{
		id: "floorp", title: "Floorp", engine: Firefox,
		linux: []place{
			{below: home, path: ".floorp"},
			{below: config, path: "floorp"},
			{home, ".var/app/one.ablaze.floorp/.floorp", flatpak},
		},
		darwin:  []place{{below: support, path: "Floorp"}},
		windows: []place{{below: roaming, path: "Floorp"}},
	},
	{
		id: "chrome", title: "Chrome", engine: Chrome,
		linux: []place{
			{below: config, path: "google-chrome"},
			{home, ".var/app/com.google.Chrome/config/google-chrome", flatpak},
		},
		darwin:  []place{{below: support, path: "Google/Chrome"}},
		windows: []place{{below: local, path: "Google/Chrome/User Data"}},
	},
	{
		id: "chrome-beta", title: "Chrome Beta", engine: Chrome,
		linux:   []place{{below: config, path: "google-chrome-beta"}},
		darwin:  []place{{below: support, path: "Google/Chrome Beta"}},
		windows: []place{{below: local, path: "Google/Chrome Beta/User Data"}},
	},
	{
		id: "chromium", title: "Chromium", engine: Chrome,
		linux: []place{
			{below: config, path: "chromium"},
			{home, "snap/chromium/common/chromium", snap},
			{home, ".var/app/org.chromium.Chromium/config/chromium", flatpak},
		},
		darwin:  []place{{below: support, path: "Chromium"}},
		windows: []place{{below: local, path: "Chromium/User Data"}},
	},
	{
		id: "edge", title: "Edge", engine: Chrome,
		linux: []place{
			{below: config, path: "microsoft-edge"},
			{home, ".var/app/com.microsoft.Edge/config/microsoft-edge", flatpak},
		},
		darwin:  []place{{below: support, path: "Microsoft Edge"}},
		windows: []place{{below: local, path: "Microsoft/Edge/User Data"}},
	},
	{
		id: "brave", title: "Brave", engine: Chrome,
		linux: []place{
			{below: config, path: "BraveSoftware/Brave-Browser"},
			{home, "snap/brave/current/.config/BraveSoftware/Brave-Browser", snap},
			{home, ".var/app/com.brave.Browser/config/BraveSoftware/Brave-Browser", flatpak},
		},
		darwin:  []place{{below: support, path: "BraveSoftware/Brave-Browser"}},
		windows: []place{{below: local, path: "BraveSoftware/Brave-Browser/User Data"}},
	},
	{
		id: "vivaldi", title: "Vivaldi", engine: Chrome,
		linux: []place{
			{below: config, path: "vivaldi"},
			{home, ".var/app/com.vivaldi.Vivaldi/config/vivaldi", flatpak},
		},
		darwin:  []place{{below: support, path: "Vivaldi"}},
		windows: []place{{below: local, path: "Vivaldi/User Data"}},
	},
	{
		id: "opera", title: "Opera", engine: Chrome,
		linux: []place{
			{below: config, path: "opera"},
			{home, "snap/opera/current/.config/opera", snap},
			{home, ".var/app/com.opera.Opera/config/opera", flatpak},
		},
		darwin:  []place{{below: support, path: "com.operasoftware.Opera"}},
		windows: []place{{below: roaming, path: "Opera Software/Opera Stable"}},
	},
	{
		id: "opera-gx", title: "Opera GX", engine: Chrome,
		darwin:  []place{{below: support, path: "com.operasoftware.OperaGX"}},
		windows: []place{{below: roaming, path: "Opera Software/Opera GX Stable"}},
	},
	{
		id: "safari", title: "Safari", engine: Safari,
		darwin: []place{{below: home, path: "Library/Safari"}},
	},
}

// places are those of a system.
func (b *browser) places(system string) []place {
	switch system {
	case "darwin":
		return b.darwin
	case "windows":
		return b.windows
	}
	return b.linux
}

// Browsers are the names of the browsers that are known on a system.
func Browsers(system string) []string {
	var names []string
	for i := range known {
		if len(known[i].places(system)) > 0 {
			names = append(names, known[i].id)
		}
	}
	return names
}
