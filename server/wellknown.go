package server

import (
	"context"
	"net/http"

	"bm/server/api"
	"bm/server/op"
)

// announce declares the operation by which a client learns what this server
// has beyond the specification.
func (s *Server) announce() {
	info := api.ServerInfo{
		Name: "bm", Version: s.config.Version, APIVersion: api.APIVersion, NoticeVersion: api.NoticeVersion,
		Extensions: []string{api.ExtChanges, api.ExtEvents, api.ExtIDs, api.ExtTags, api.ExtRestore, api.ExtMove, api.ExtETag},
		Limits:     api.Limits(),
	}
	row := op.Spec{
		ID: "get-server-info", Method: http.MethodGet, Path: "/.well-known/bm", Section: "Server", Status: http.StatusOK,
		Auth: op.Public, Scope: op.Nothing, Permission: op.NoPermission, Extension: true,
		Summary: "Which server this is, which extensions it has, and its limits",
	}
	op.Register(s.router, row, func(context.Context, *op.Call, *struct{}) (api.ServerInfo, error) { return info, nil })
}
