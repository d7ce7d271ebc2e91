// Package web makes the pages that people open in a browser: the API's
// documentation at /docs.
//
// They are made on the server from what the server serves, with no script and
// nothing fetched from elsewhere. It imports api and op.
package web
