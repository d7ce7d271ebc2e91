// Package access says who a caller is and what it may do: principals,
// permission keys, built-in roles and the evaluator that adds assignments up.
//
// It may import api and sqldb, and nothing else of bm.
package access
