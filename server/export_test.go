package server

import (
	"bm/server/sqldb"
	"bm/server/tree"
)

// DB is the server's database.
func (s *Server) DB() *sqldb.DB { return s.db }

// Tree is what the server keeps.
func (s *Server) Tree() *tree.Tree { return s.tree }
