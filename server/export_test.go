package server

import (
	"time"

	"bm/server/sqldb"
	"bm/server/tree"
)

// DB is the server's database.
func (s *Server) DB() *sqldb.DB { return s.db }

// Tree is what the server keeps.
func (s *Server) Tree() *tree.Tree { return s.tree }

// Timeouts are how long a connection may take for its headers, and be idle.
func (s *Server) Timeouts() (headers, idle time.Duration) {
	web := s.httpServer(nil)
	return web.ReadHeaderTimeout, web.IdleTimeout
}
