package exchange_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bm/server/api/exchange"
	"bm/server/api/needtest"
)

// sample is what a real export holds, counted by hand.
type sample struct {
	file                                             string
	entries, folders, tags, descriptions, dates, top int
	// Details that are easy to get wrong: the entry, and what it must hold.
	details []detail
}

type detail struct {
	entry                         int // a bookmark's index, or -n for the n-th folder
	title, url, description, tags string
	date                          string // "" for none
	path                          string // the names of the folders above, each with a slash behind it
}

const unchecked = "\x00"

var samples = []sample{
	{"empty.htm", 0, 0, 0, 0, 0, 0, nil},
	{"chromium_flat.htm", 9, 0, 0, 0, 9, 9, []detail{
		{entry: 0, title: "Cozy - Simple, versatile, yours", url: "https://cozy.io/en/", date: "2016-06-15T16:43:49Z"},
		{entry: 8, title: "Timeline of the Elves in Tolkien’s works | LotrProject Blog", url: "http://lotrproject.com/blog/2013/02/08/timeline-of-the-elves-in-tolkiens-works/", date: "2016-06-15T17:03:25Z"},
	}},
	{"chromium_nested.htm", 18, 7, 0, 0, 18, 3, []detail{
		{entry: 5, title: "php - Best practices to test protected methods with PHPUnit - Stack Overflow", url: "http://stackoverflow.com/questions/249664/best-practices-to-test-protected-methods-with-phpunit/2798203#2798203", date: "2016-06-15T17:51:33Z", path: "Dev/PHP/"},
		{entry: 13, title: "The Linux Kernel Archives", url: "https://www.kernel.org/", date: "2016-06-15T17:28:59Z", path: "Linux, Unix OS,Other   stuff/"},
		{entry: -6, title: "Linux, Unix OS,Other   stuff", date: "2016-06-15T17:28:42Z"},
	}},
	{"delicious.htm", 5, 0, 18, 4, 5, 5, []detail{
		{entry: 3, title: "Paper craft Mine Turtle", url: "http://storml.deviantart.com/art/Mine-Turtle-Instructions-302477240?q=in%3Ascraps%20sort%3Atime%20gallery%3Astorml&qo=1", description: `"Hello!"`, tags: "mine|turtle|paper|craft|asdf", date: "2015-04-12T22:00:00Z"},
		{entry: 4, title: "fontfamily.io", url: "http://fontfamily.io/", description: "Compatibility tables for default local fonts.", tags: "@font-face|os|typography", date: "2014-09-30T13:59:19Z"},
	}},
	{"delicious_sanitize.htm", 2, 0, 5, 2, 2, 2, []detail{
		{entry: 0, title: "spip pastebin - outil de debug collaboratif - Bonjour les écureuils !", url: "http://spip.pastebin.fr/28921", description: "Text\n#CLE ---> #VALEUR", tags: "spip3|astuces", date: "2013-10-01T18:20:56Z"},
		{entry: 1, title: "Changer le monde - Carnets Web de La Grange", url: "http://www.la-grange.net/2013/09/07/changement", description: unchecked, tags: "culture|propriété_intellectuelle|ChangerLeMonde", date: "2013-10-01T18:20:11Z"},
	}},
	{"firefox_flat.htm", 24, 1, 105, 8, 24, 22, []detail{
		{entry: 0, title: "Recently saved", url: "place:folder=BOOKMARKS_MENU&folder=UNFILED_BOOKMARKS&folder=TOOLBAR&queryType=1&sort=12&maxResults=10&excludeQueries=1", date: "2016-04-10T13:29:16Z"},
		{entry: 7, title: "The Most Important Object In Computer Graphics History Is This Teapot - Facts So Romantic - Nautilus", url: "http://nautil.us/blog/the-most-important-object-in-computer-graphics-history-is-this-teapot", description: "Let’s play a game. I’ll show you a picture and\u00a0a couple videos—just watch the first five seconds or so—and you figure out&#8230;", tags: unchecked, date: "2016-05-19T19:36:53Z"},
		{entry: -1, title: "Personal toolbar", description: "Add bookmarks to this folder to see them displayed on the Bookmarks Toolbar", date: "2016-04-10T13:29:15Z"},
	}},
	{"firefox_nested.htm", 24, 6, 101, 8, 24, 3, []detail{
		{entry: 15, title: "Chocolate Consumption, Cognitive Function, and Nobel Laureates - Chocolate consumption cognitive function and nobel laurates (NEJM).pdf", url: "http://www.biostat.jhsph.edu/courses/bio621/misc/Chocolate%20consumption%20cognitive%20function%20and%20nobel%20laurates%20%28NEJM%29.pdf", tags: unchecked, date: "2016-05-19T19:51:06Z", path: "Dev/"},
		{entry: 22, title: "Most visited", url: "place:sort=8&maxResults=10", date: "2016-04-10T13:29:16Z", path: "Personal toolbar/"},
		{entry: -2, title: "Dev", description: "Development & programming", date: "2016-05-19T20:02:09Z"},
	}},
	{"google_bookmarks_nested.htm", 6, 1, 0, 0, 6, 0, []detail{
		{entry: 0, title: "WordHippo | Comprehensive Thesaurus for Synonyms and Antonyms", url: "https://www.wordhippo.com/", date: "2018-01-09T16:34:57.780642Z", path: "Unlabeled/"},
		{entry: 4, title: "Kubo and the Two Strings (2016) - IMDb", url: "https://www.imdb.com/title/tt4302938/", date: "2018-07-24T14:24:22.578515Z", path: "Unlabeled/"},
	}},
	{"internet_explorer_11_flat.htm", 18, 0, 0, 0, 18, 18, []detail{
		{entry: 0, title: "A better git log (Example)  Coderwall", url: "https://coderwall.com/p/euwpig/a-better-git-log", date: "2016-06-18T16:30:53Z"},
		{entry: 2, title: "CSS 3D Clouds", url: "https://www.clicktorelease.com/code/css3dclouds/#", date: "2016-06-18T17:17:24Z"},
	}},
	{"internet_explorer_11_nested.htm", 27, 9, 0, 0, 27, 2, []detail{
		{entry: 4, title: "XKCD Plots in Matplotlib Going the Whole Way", url: "http://jakevdp.github.io/blog/2013/07/10/XKCD-plots-in-matplotlib/", date: "2016-06-18T17:37:55Z", path: "Dev/Python/"},
		{entry: 14, title: "IE Add-on site", url: "http://go.microsoft.com/fwlink/?LinkId=50893", date: "2013-03-11T21:39:26Z", path: "Microsoft Websites/"},
		{entry: -6, title: "Links", date: "2013-03-11T21:39:26Z"},
	}},
	{"netscape_basic.htm", 2, 0, 5, 1, 2, 2, []detail{
		{entry: 0, title: "Secret stuff", url: "https://private.tld", description: "Super-secret stuff you're not supposed to know about", tags: "private|secret", date: "2000-10-10T10:55:36Z"},
		{entry: 1, title: "Public stuff", url: "http://public.tld", tags: "public|hello|world", date: "2016-02-25T20:55:48Z"},
	}},
	{"netscape_extended.htm", 1, 0, 2, 1, 1, 1, []detail{
		{entry: 0, title: "The hunt for the fish pirates who exploit the sea - BBC Future", url: "https://www.bbc.com/future/article/20190213-the-dramatic-hunt-for-the-fish-pirates-exploiting-our-seas", description: "For 10 years, a rogue fishing vessel and its crew plundered the world’s oceans, escaping repeated attempts of capture. Then a dramatic pursuit finally netted the one that got away.\nhttp://localhost.localdomain:8083/Shaarli/?JVvqCA", tags: "story|oceans", date: "2020-06-06T13:50:45Z"},
	}},
	{"netscape_multiline.htm", 3, 0, 3, 3, 3, 3, []detail{
		{entry: 1, title: "Multiline desc", url: "http://multi.li.ne/2", description: "Nested lists:\n- list1\n  - item1.1\n  - item1.2\n  - item1.3\n- list2\n  - item2.1", tags: "multi", date: "2016-02-25T20:55:42Z"},
		{entry: 2, title: "Multiline desc", url: "http://multi.li.ne/3", description: "List:\n- item1\n- item2\n\nParagraph number one.\n\nParagraph\nnumber\ntwo.", tags: "multi", date: "2016-02-25T20:55:47Z"},
	}},
	{"netscape_nested.htm", 8, 4, 11, 2, 8, 2, []detail{
		{entry: 2, title: "Nested 1-2", url: "http://nest.ed/1-2", tags: "tag3|tag4|leaf multi word", date: "2016-02-25T20:55:47Z", path: "Folder1, the first,folder to encounter/"},
		{entry: 5, title: "Nested 3-1", url: "http://nest.ed/3-1", tags: "tag3", date: "2016-02-02T17:22:22Z", path: "Folder3/Folder3-1/"},
		{entry: -2, title: "Folder2", description: "This second folder contains wonderful links!", date: "2016-02-25T20:55:22Z"},
		{entry: -3, title: "Folder3"},
	}},
	{"safari_folded.htm", 3, 5, 0, 0, 0, 0, []detail{
		{entry: 1, title: "GitHub - shaarli/Shaarli: The personal, minimalist, super-fast, database free, bookmarking service - community repo", url: "https://github.com/shaarli/Shaarli", path: "Github - Shaarli/"},
		{entry: 2, title: "Wikipedia, the free encyclopedia", url: "https://en.wikipedia.org/wiki/Main_Page", path: "Autre Divers/doc/"},
	}},
	{"scuttle.htm", 4, 0, 4, 3, 4, 4, []detail{
		{entry: 0, title: "EuroVoc Thesaurus", url: "http://eurovoc.europa.eu/drupal/?q=navigation&cl=en", description: "Multilingual Thesaurus of the European Union", tags: "dictionary", date: "2011-02-18T09:21:53Z"},
		{entry: 3, title: "UN Terminology in German, English (& French & Spanish)", url: "http://unterm.un.org/dgaacs/gts_term.nsf", description: unchecked, tags: "dictionary", date: "2008-05-16T05:25:53Z"},
	}},
	{"scuttle_new_line.htm", 1, 0, 3, 1, 1, 1, []detail{
		{entry: 0, title: "Funky16Corners", url: "http://funky16corners.com", description: "The best in funk, soul, jazz and rare groove vinyl\nI have been writing about music in various forms (zines, newspapers, e-zines, blogs) since the mid-80’s. The Funky16Corners blog started in November of 2004 to focus on funk and soul vinyl. Since mid-2006, in addition to individual MP3 tracks, I have been posting mixes under the title Funky16Corners radio. Most MP3s and mixes will be available for a few weeks.", tags: "funk|musik|blog", date: "2017-04-02T04:38:00Z"},
	}},
	{"shaarli.htm", 6, 0, 25, 4, 6, 6, []detail{
		{entry: 0, title: "Kouign'amann recipes", url: "?lY47tw", description: "\"Is there anything more fabulous than something created through the wonder and miracle of caramelization?\"\n\n- http://www.davidlebovitz.com/2005/08/long-live-the-k/\n- http://www.bonappetit.com/recipe/kouign-amann\n\n\"It is strictly forbidden to think about diet while you're making a Kouign Amann\"", tags: "breton|recipe|kouign|amann|traditional|caramel|butter", date: "2016-03-30T20:56:37Z"},
		{entry: 4, title: "Shaarli: the personal, minimalist, super-fast, no-database delicious clone", url: "https://github.com/shaarli/Shaarli/wiki", description: unchecked, tags: "opensource|software", date: "2016-03-30T20:49:33Z"},
	}},
	{"shaarli_legacy.htm", 2, 0, 2, 1, 2, 2, []detail{
		{entry: 0, title: "A Pen by Rodrigo Muniz.", url: "https://gist.github.com/rodrigomuniz/8408734", description: "simple on/off button", tags: "css", date: "2016-08-08T07:17:32Z"},
		{entry: 1, title: "URL Rewriting for Beginners - Web Development in Brighton - Added Bytes", url: "https://www.addedbytes.com/articles/for-beginners/url-rewriting-for-beginners/", tags: "apache", date: "2016-07-31T07:27:32Z"},
	}},
	{"shaarli_markdown.htm", 3, 0, 5, 3, 3, 3, []detail{
		{entry: 0, title: "Markdown - code", url: "?Z-mb0g", description: "PHP stuff:\n\n    <?php\n    phpinfo();\n    ?>\n\nPython stuff:\n\n    import logging\n    import os\n\n    if __name__ == '__main__':\n        logging.info(\"Current directory: %s\", os.getcwd())", tags: "markdown|php|code", date: "2016-05-14T21:49:04Z"},
		{entry: 1, title: "Markdown - lists", url: "?9PvbnA", description: "Standard:\n* item1\n* item2\n* item3\n\nNested:\n- item1\n    - item1.1\n    - item1.2\n- item2", tags: "markdown", date: "2016-05-14T21:45:38Z"},
	}},
	{"shaarli_with_tabs_and_spaces.htm", 1, 0, 1, 1, 1, 1, []detail{
		{entry: 0, title: "Note: Code tests", url: "?KvNdlQ", description: "I will write some formating using spaces:\n\n  * For example,\n  * lists,\n    + but also\n    + sublists\n  * use spaces.\n\nAlso code:\n\n```\nforeach ($data['linksToDisplay'] as $key => $bookmark) {\n    $length = strlen($bookmark['title']) + (342 * strlen($bookmark['description'])) / 836;\n    if (! empty($bookmark['thumbnail'])) {\n\t\t$length += 100; // 1 thumbnails roughly takes 100 pixels height.\n    }\n}\n```", tags: "dev", date: "2020-06-06T15:18:26Z"},
	}},
	{"shaarli_with_whitespace_tags.htm", 1, 0, 3, 1, 1, 1, []detail{
		{entry: 0, title: "Note: Code tests", url: "?KvNdlQ", description: unchecked, tags: "dev|php dev|php 7.x", date: "2020-06-06T15:18:26Z"},
	}},
}

func TestSamples(t *testing.T) {
	dir := samplesDir(t)
	for _, want := range samples {
		t.Run(want.file, func(t *testing.T) {
			file, err := os.Open(filepath.Join(dir, want.file))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			checkSample(t, want, readAll(t, file))
		})
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.htm"))
	if err != nil || len(found) != len(samples) {
		t.Errorf("%d files (%v), of which %d have expectations", len(found), err, len(samples))
	}
}

func checkSample(t *testing.T, want sample, entries []*exchange.Entry) {
	t.Helper()
	got := sample{file: want.file}
	var bookmarks, folders []*exchange.Entry
	for _, e := range entries {
		switch e.Kind {
		case exchange.Folder:
			folders = append(folders, e)
			got.folders++
		case exchange.Bookmark:
			bookmarks = append(bookmarks, e)
			got.entries++
			got.tags += len(e.Tags)
			if e.Description != "" {
				got.descriptions++
			}
			if !e.CreatedAt.IsZero() {
				got.dates++
			}
			if e.Parent == exchange.Root {
				got.top++
			}
			if e.Extra["ICON"] != "" || len(e.Issues) > 0 {
				t.Errorf("entry %d: icon %q, issues %v", e.Index, e.Extra["ICON"], e.Issues)
			}
		}
	}
	if got.entries != want.entries || got.folders != want.folders || got.tags != want.tags ||
		got.descriptions != want.descriptions || got.dates != want.dates || got.top != want.top {
		t.Errorf("\n got %d entries, %d folders, %d tags, %d descriptions, %d dates, %d at the top\nwant %d, %d, %d, %d, %d, %d",
			got.entries, got.folders, got.tags, got.descriptions, got.dates, got.top,
			want.entries, want.folders, want.tags, want.descriptions, want.dates, want.top)
	}
	for _, d := range want.details {
		list, i := bookmarks, d.entry
		if i < 0 {
			list, i = folders, -i-1
		}
		if i >= len(list) {
			t.Errorf("there is no entry %d", d.entry)
			continue
		}
		e := list[i]
		checkText(t, d.entry, "title", e.Title, d.title)
		checkText(t, d.entry, "url", e.URL, d.url)
		checkText(t, d.entry, "description", e.Description, d.description)
		checkText(t, d.entry, "tags", strings.Join(e.Tags, "|"), d.tags)
		date := ""
		if !e.CreatedAt.IsZero() {
			date = e.CreatedAt.Format(time.RFC3339Nano)
		}
		checkText(t, d.entry, "date", date, d.date)
		path := ""
		for at := e.Parent; at != exchange.Root; at = folders[at-1].Parent {
			path = folders[at-1].Title + "/" + path
		}
		checkText(t, d.entry, "path", path, d.path)
	}
}

func checkText(t *testing.T, entry int, what, got, want string) {
	t.Helper()
	if got != want && want != unchecked {
		t.Errorf("entry %d: %s\n got %q\nwant %q", entry, what, got, want)
	}
}

// samplesDir finds the real exports, which are not part of this repository.
func samplesDir(t *testing.T) string {
	t.Helper()
	dir := needtest.Beside(t, "samples/netscape")
	if dir == "" {
		needtest.Missing(t, "samples", "the real exports are not beside the repository")
	}
	return dir
}
