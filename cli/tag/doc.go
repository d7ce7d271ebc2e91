// Package tag holds the commands about tags.
package tag
