package httpapi

import (
	_ "embed"
	"net/http"
)

// openAPI describes /v1; a test holds it to the routes and their answers.
//
//go:embed openapi.json
var openAPI []byte

func (a *jobsAPI) showOpenAPI(x *exchange, _ string) error {
	if _, err := readParameters(x.r); err != nil {
		return err
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=300")
	a.writeDocument(x, http.StatusOK, openAPI)
	return nil
}
