package api

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"github.com/ndbgate/ndbgate"
)

const (
	specPath = "/openapi.yaml"
	docsPath = "/docs/"
)

// serveSpec answers with openapi.yaml as it was when the gateway was built.
func serveSpec() http.HandlerFunc {
	sum := sha256.Sum256(ndbgate.OpenAPI)
	etag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", etag)
		// A list of tags that cannot be read asks for nothing here.
		if known, err := parseETags(r.Header, "If-None-Match"); err == nil && known.has(etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", "application/yaml")
		h.Set("Content-Length", strconv.Itoa(len(ndbgate.OpenAPI)))
		_, _ = w.Write(ndbgate.OpenAPI) // fails only where the client has left
	}
}

// docsPolicy lets the page load and ask nothing but this gateway. Swagger UI
// needs the inline script that starts it, inline styles, and images as data.
const docsPolicy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// sendToThisOrigin makes the page try calls on the gateway that served it,
// whatever address the document names.
const sendToThisOrigin = `(request) => {
	const url = new URL(request.url, window.location);
	request.url = window.location.origin + url.pathname + url.search;
	return request;
}`

// docsHandler serves Swagger UI and all of its parts under docsPath.
func docsHandler() http.Handler {
	ui := v5emb.NewHandlerWithConfig(swgui.Config{
		Title:       "ndbgate",
		SwaggerJSON: specPath,
		BasePath:    docsPath,
		SettingsUI: map[string]string{
			"defaultModelsExpandDepth": "1",
			"displayRequestDuration":   "true",
			"requestInterceptor":       sendToThisOrigin,
			"tryItOutEnabled":          "true",
		},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("Cache-Control", "no-cache")
		ui.ServeHTTP(w, r)
	})
}
