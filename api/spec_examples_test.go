package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/memstore"
)

// TestContract_ExamplesAreTrue sends the request of every example in
// openapi.yaml to a running server and compares the answer with the example.
//
// An example of an answer is an entry of examples in the content of a response
// or, where the answer has no body, in one of its headers. Its request is made
// of
//
//   - the path, with each path parameter's example in it;
//   - in a call that takes a body, the example of the same name in requestBody,
//     or else the first example of the body's schema; once for each media type;
//   - what the extension x-request of the example says: path, query and headers
//     replace or add values, body and text replace the body by a JSON value or
//     by raw text, paddingBytes puts so many spaces in front of it, and stalled
//     sends none of it; longURL and longHeaders make these longer than they may be;
//     scopes gives it a key with these; with allUp the backends that are down serve the same
//     rows as the others; earlier is the body of a request, all else the same,
//     that is sent and answered well before.
//
// The server holds the employees of the first example of listEmployees, and
// has the backends of the first example of listBackends, or of the example
// itself where that is one of listBackends; an example of getCluster has the
// cluster that it shows. An example of a problem that a request alone cannot
// cause gets a store that fails so; see failures.
//
// The answer must have the status that the example is listed under, a body
// that equals the example (text that is not JSON need only begin so) and is
// valid by its schema, all headers that the response requires, each valid by
// its schema, and no header that is not listed. An id that the gateway
// assigned, and how long something took, are what may differ. A request of an
// answer below 400 must be valid by the contract itself; and after one from 400
// on, the rows must be as they were, unless the problem says that they are not.
func TestContract_ExamplesAreTrue(t *testing.T) {
	c := loadContract(t)
	for _, s := range c.samples() {
		t.Run(s.name, func(t *testing.T) {
			c := *c
			c.t = t
			s.check(t, &c)
		})
	}
}

func TestContract_ExamplesShowEveryProblem(t *testing.T) {
	shown := map[code]bool{
		// No call of the contract gets these two.
		codeRouteNotFound:    true,
		codeMethodNotAllowed: true,
	}
	for _, s := range loadContract(t).samples() {
		shown[s.problemCode()] = true
		for _, line := range s.lines(t, []byte(s.want.text())) {
			shown[line.problemCode()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		if !shown[name] {
			t.Errorf("openapi.yaml has no example of the problem %s", name)
		}
	}
}

func TestContract_RequestExamplesHaveAnswers(t *testing.T) {
	c := loadContract(t)
	answered := map[string]bool{}
	for _, s := range c.samples() {
		answered[s.operation.at("operationId").text()+" "+s.example] = true
	}
	for _, item := range c.at("paths").members() {
		for _, operation := range item.members() {
			for _, media := range operation.at("requestBody", "content").members() {
				for name := range media.at("examples").names() {
					if id := operation.at("operationId").text(); !answered[id+" "+name] {
						t.Errorf("%s: no answer for the request %s", id, name)
					}
				}
			}
		}
	}
}

// sample is one example of the contract: a request and its answer.
type sample struct {
	name      string
	example   string
	method    string
	path      string
	operation place  // Operation Object
	mediaType string // of the request's body; empty where there is none
	status    int
	response  place   // Response Object
	schema    place   // of the answer's body; absent where it has none
	want      place   // the answer's body; absent where it has none
	headers   []place // examples of the answer's headers
	request   sampleRequest
	key       string // to be sent; empty: none
}

// sampleRequest is x-request.
type sampleRequest struct {
	Path         map[string]string
	Query        map[string]any // a string, or a list of them
	Headers      map[string]string
	Body         json.RawMessage
	Text         *string
	PaddingBytes int
	Stalled      bool
	LongURL      bool
	LongHeaders  bool
	Scopes       string // of a key that the request has
	AllUp        bool
	Earlier      json.RawMessage
}

// samples lists all examples in a fixed order.
func (c *contract) samples() []*sample {
	var all []*sample
	for path, item := range c.at("paths").members() {
		for method, operation := range item.members() {
			for status, response := range operation.at("responses").members() {
				code, err := strconv.Atoi(status)
				if err != nil {
					c.t.Fatalf("%s: not a status", response.pointer)
				}
				base := sample{
					method: strings.ToUpper(method), path: path, operation: operation,
					status: code, response: response,
				}
				for _, s := range base.ofResponse() {
					all = append(all, s.forEachMediaType()...)
				}
			}
		}
	}
	return all
}

// ofResponse lists the examples of the sample's response.
func (s *sample) ofResponse() []*sample {
	found := map[string]*sample{}
	add := func(name string, example place) *sample {
		if found[name] == nil {
			named := *s
			named.example = name
			found[name] = &named
		}
		if special := example.at("x-request"); special.exists() {
			special.into(&found[name].request)
		}
		return found[name]
	}
	for _, media := range s.response.at("content").members() {
		for name, example := range media.at("examples").members() {
			named := add(name, example)
			named.schema, named.want = media.at("schema"), example.at("value")
		}
	}
	for _, header := range s.response.at("headers").members() {
		for name, example := range header.at("examples").members() {
			named := add(name, example)
			named.headers = append(named.headers, example)
		}
	}
	if len(found) == 0 {
		s.operation.c.t.Errorf("%s: no example", s.response.pointer)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *sample) int { return cmp.Compare(a.example, b.example) })
}

func (s *sample) forEachMediaType() []*sample {
	s.name = s.operation.at("operationId").text() + "/" + strconv.Itoa(s.status) + "/" + s.example
	var all []*sample
	for mediaType := range s.operation.at("requestBody", "content").members() {
		typed := *s
		typed.name += "/" + mediaType
		typed.mediaType = mediaType
		all = append(all, &typed)
	}
	if len(all) == 0 {
		return []*sample{s}
	}
	return all
}

// problemCode is the code in the example, or empty where it is no problem.
func (s *sample) problemCode() code {
	if !s.want.exists() {
		return ""
	}
	return code(s.want.at("code").text())
}

func (s *sample) check(t *testing.T, c *contract) {
	rows := &scriptedStore{
		failure:      failures[s.problemCode()],
		memoryOnly:   s.problemCode() == codeDurabilityUnavailable,
		neverDurable: s.problemCode() == codeNotDurableYet,
	}
	seed := c.seed()
	for _, e := range seed {
		if err := rows.Store.Create(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	opts := s.streamOptions()
	if s.request.Stalled {
		opts.RequestTimeout, opts.StreamIdle = 100*time.Millisecond, 100*time.Millisecond
	}
	opts.Access = s.gate(t)
	opts.LocalOnly = opts.Access == nil
	server := httptest.NewServer(New(c.backends(s, rows), opts))
	defer server.Close()

	body := s.body()
	if s.status < http.StatusBadRequest {
		s.checkRequest(t, body)
	}
	before := seed
	if s.request.Earlier != nil {
		s.sendEarlier(t, server)
		before = rows.all(t)
	}
	if s.problemCode() == codeRateLimited {
		s.sendFirst(t, server)
	}
	answer, err := server.Client().Do(s.newRequest(t, server.URL, body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != s.status {
		t.Fatalf("status: got %d, want %d; body %s", answer.StatusCode, s.status, got)
	}
	s.checkHeaders(t, answer.Header)
	idAssigned := s.method == http.MethodPost && s.status == http.StatusCreated && !bytes.Contains(body, []byte(`"id"`))
	s.checkBody(t, answer.Header.Get("Content-Type"), got, idAssigned)
	if s.status >= http.StatusBadRequest {
		if after := rows.all(t); reflect.DeepEqual(after, before) == s.saysWritten() {
			t.Errorf("rows: got %v, which is not what the problem says", after)
		}
	}
}

func (s *sample) sendEarlier(t *testing.T, server *httptest.Server) {
	t.Helper()
	answer, err := server.Client().Do(s.newRequest(t, server.URL, s.request.Earlier))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusBadRequest {
		t.Fatalf("earlier request: got %d", answer.StatusCode)
	}
}

// sendFirst sends the one request that may be sent in a second.
func (s *sample) sendFirst(t *testing.T, server *httptest.Server) {
	t.Helper()
	answer, err := server.Client().Get(server.URL + "/v1/limits")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("first request: got %d", answer.StatusCode)
	}
}

// saysWritten tells whether the problem says that something was written.
func (s *sample) saysWritten() bool {
	committed := s.want.at("committed").text()
	return s.problemCode() == codeNotDurableYet || committed != "" && committed != "0"
}

// body is the body to send, without its padding.
func (s *sample) body() []byte {
	if s.mediaType == "" {
		return nil
	}
	media := s.operation.at("requestBody", "content", s.mediaType)
	example := media.at("examples", s.example, "value")
	switch {
	case s.request.Text != nil:
		return []byte(*s.request.Text)
	case s.request.Body != nil:
		return s.request.Body
	case example.exists():
		return s.encoded(example)
	default:
		for first := range media.at("schema", "examples").items() {
			return s.encoded(first)
		}
		s.operation.c.t.Fatalf("%s: no example of the body", s.name)
		return nil
	}
}

func encodeJSON(p place) []byte {
	encoded, err := json.Marshal(p.value)
	if err != nil {
		p.c.t.Fatal(err)
	}
	return encoded
}

func (s *sample) newRequest(t *testing.T, server string, body []byte) *http.Request {
	t.Helper()
	path := s.path
	for parameter := range s.operation.at("parameters").items() {
		if name := parameter.at("name").text(); parameter.at("in").text() == "path" {
			value := cmp.Or(s.request.Path[name], parameter.at("example").text())
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
		}
	}
	body = append(bytes.Repeat([]byte(" "), s.request.PaddingBytes), body...)
	r, err := http.NewRequestWithContext(t.Context(), s.method, server+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if s.request.Stalled {
		body, end := io.Pipe()
		t.Cleanup(func() { _ = end.Close() }) // a PipeWriter's Close never fails
		r.Body = body
	}
	query := url.Values{}
	for name, value := range s.request.Query {
		query[name] = listOf(value)
	}
	if s.request.LongURL {
		query.Set("padding", strings.Repeat("a", maxURLBytes))
	}
	r.URL.RawQuery = query.Encode()
	if s.request.LongHeaders {
		r.Header.Set("Padding", strings.Repeat("a", maxHeaderBytes))
	}
	if s.mediaType != "" {
		r.Header.Set("Content-Type", s.mediaType)
	}
	if s.want.exists() {
		if id := s.want.at("request_id"); id.exists() {
			r.Header.Set("X-Request-Id", id.text())
		}
	}
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	for name, value := range s.request.Headers {
		r.Header.Set(name, value)
	}
	if host := s.request.Headers["Host"]; host != "" {
		r.Host = host // net/http takes it from nowhere else
	}
	return r
}

func listOf(value any) []string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = v.(string)
	}
	return texts
}

// checkRequest checks that a request which is answered well is good by the
// contract.
func (s *sample) checkRequest(t *testing.T, body []byte) {
	t.Helper()
	if s.mediaType != "" {
		value, err := s.decoded(body)
		if err != nil {
			t.Fatalf("request %s: %v", body, err)
		}
		if err := s.operation.at("requestBody", "content", s.mediaType, "schema").validate(value); err != nil {
			t.Errorf("request: %v", err)
		}
	}
	given := map[string]string{}
	for name, value := range s.request.Query {
		given["query "+name] = listOf(value)[0]
	}
	for name, value := range s.request.Headers {
		if name != "Accept" && name != "Content-Type" { // which OpenAPI knows by itself
			given["header "+name] = value
		}
	}
	for name, value := range s.request.Path {
		given["path "+name] = value
	}
	for parameter := range s.operation.at("parameters").items() {
		key := parameter.at("in").text() + " " + parameter.at("name").text()
		if value, ok := given[key]; ok {
			if err := parameter.at("schema").validateText(value); err != nil {
				t.Errorf("%s: %v", key, err)
			}
			delete(given, key)
		}
	}
	for key := range given {
		t.Errorf("%s is not a parameter of the call", key)
	}
}

// alwaysAllowed are headers that the contract need not list.
var alwaysAllowed = []string{
	"Accept-Ranges", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "Referrer-Policy", "X-Content-Type-Options",
}

func (s *sample) checkHeaders(t *testing.T, got http.Header) {
	t.Helper()
	known := slices.Clone(alwaysAllowed)
	for name, header := range s.response.at("headers").members() {
		known = append(known, http.CanonicalHeaderKey(name))
		values := got.Values(name)
		if len(values) == 0 {
			if header.at("required").value == true {
				t.Errorf("header %s is missing", name)
			}
			continue
		}
		if err := header.at("schema").validateText(values[0]); err != nil || len(values) > 1 {
			t.Errorf("header %s: got %q: %v", name, values, err)
		}
		if want := header.at("examples", s.example, "value"); want.exists() && withoutTimes(values[0]) != withoutTimes(want.text()) {
			t.Errorf("header %s: got %q, want %q", name, values[0], want.text())
		}
	}
	for name := range got {
		if !slices.Contains(known, name) {
			t.Errorf("header %s: openapi.yaml does not list it for this answer", name)
		}
	}
}

func (s *sample) checkBody(t *testing.T, contentType string, body []byte, idAssigned bool) {
	t.Helper()
	if !s.schema.exists() {
		if len(body) > 0 {
			t.Errorf("body: got %s, want none", body)
		}
		return
	}
	if !s.response.at("content", contentType).exists() {
		t.Errorf("Content-Type: got %q, which openapi.yaml does not list", contentType)
	}
	if err := s.schema.validate(s.want.value); err != nil {
		t.Errorf("example: %v", err)
	}
	if contentType == ndjsonType {
		s.checkLines(t, body)
		return
	}
	if !strings.HasSuffix(contentType, "json") {
		if !strings.HasPrefix(string(body), s.want.text()) {
			t.Errorf("body: got %.100q, want it to begin with %q", body, s.want.text())
		}
		return
	}
	got, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("body %s: %v", body, err)
	}
	if err := s.schema.validate(got); err != nil {
		t.Errorf("body %s: %v", body, err)
	}
	if employee, ok := got.(map[string]any); ok && idAssigned {
		employee["id"] = s.want.at("id").value
	}
	if !reflect.DeepEqual(got, s.want.value) {
		t.Errorf("body:\n got %s\nwant %s", body, encodeJSON(s.want))
	}
}

// seed is the rows of the server: those of the example that lists all.
func (c *contract) seed() []models.Employee {
	c.t.Helper()
	var page struct{ Employees []models.Employee }
	c.at("paths", "/v1/employees", "get", "responses", "200", "content", "application/json", "examples", "all", "value").into(&page)
	return page.Employees
}

// backends are those of an example of listBackends, in the state that it shows;
// those that are up serve rows.
func (c *contract) backends(s *sample, rows *scriptedStore) *store.Registry {
	c.t.Helper()
	if s.showsCluster() {
		return s.clusterBackends(rows)
	}
	var example backendList
	if s.operation.at("operationId").text() == "listBackends" && s.status == http.StatusOK {
		s.want.into(&example)
	} else {
		c.at("paths", "/v1/backends", "get", "responses", "200", "content", "application/json", "examples", "backends", "value").into(&example)
	}
	var shares []store.Share
	for _, weight := range example.Weights {
		shares = append(shares, store.Share(weight))
	}
	registry := store.NewWeightedRegistry(shares)
	for _, b := range example.Backends {
		if b.State != stateText(true) && s.request.AllUp {
			registry.Add(b.Name, rows)
			continue
		}
		if b.State != stateText(true) {
			registry.Add(b.Name, store.Unavailable{Reason: b.Reason})
			continue
		}
		rows.status = store.Status{Up: true}
		for _, n := range b.Nodes {
			rows.status.Nodes = append(rows.status.Nodes, store.NodeStatus{
				Address:  n.Address,
				Up:       n.State == stateText(true),
				Max:      n.Max,
				InUse:    n.InUse,
				Idle:     n.Idle,
				Waiting:  n.Waiting,
				Waits:    n.Waits,
				WaitTime: time.Duration(n.WaitSeconds * float64(time.Second)),
			})
		}
		registry.Add(b.Name, rows)
	}
	return registry
}

// failures are what the store answers in the examples of problems that no
// request can cause by itself.
var failures = map[code]error{
	codeBatchTooLarge:    &store.BatchTooLargeError{Limit: 32768, Setting: "MaxNoOfConcurrentOperations"},
	codeInternal:         errors.New("a failure without a kind"),
	codeInvalidValue:     store.ErrInvalid,
	codeKeyInUse:         store.ErrKeyInUse,
	codeNoIdempotency:    store.ErrNoAnswers,
	codeOutcomeUnknown:   store.ErrUnknownOutcome,
	codeTimeout:          context.DeadlineExceeded,
	codeOrderUnsupported: store.ErrOrderUnsupported,
}

// scriptedStore is a memstore with a given status, on which every call fails
// where failure is set.
type scriptedStore struct {
	memstore.Store
	failure      error
	status       store.Status
	memoryOnly   bool // it cannot tell what is on disk
	neverDurable bool // it can, but nothing comes there
}

func (s *scriptedStore) CheckDurable() error {
	if s.memoryOnly {
		return errors.New("memory only")
	}
	return nil
}

func (s *scriptedStore) WaitDurable(context.Context) error {
	if s.neverDurable {
		return context.DeadlineExceeded
	}
	return nil
}

func (s *scriptedStore) Get(ctx context.Context, id int64) (models.Employee, error) {
	if s.failure != nil {
		return models.Employee{}, s.failure
	}
	return s.Store.Get(ctx, id)
}

func (s *scriptedStore) List(ctx context.Context, q models.EmployeeQuery) (models.EmployeePage, error) {
	if s.failure != nil {
		return models.EmployeePage{}, s.failure
	}
	return s.Store.List(ctx, q)
}

func (s *scriptedStore) Create(ctx context.Context, e models.Employee) error {
	if s.failure != nil {
		return s.failure
	}
	return s.Store.Create(ctx, e)
}

func (s *scriptedStore) CreateOnce(ctx context.Context, e models.Employee, a models.KeptAnswer) error {
	if s.failure != nil {
		return s.failure
	}
	return s.Store.CreateOnce(ctx, e, a)
}

// all is what is stored.
func (s *scriptedStore) all(t *testing.T) []models.Employee {
	t.Helper()
	all, err := s.Store.List(t.Context(), models.EmployeeQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return all.Employees
}

func (s *scriptedStore) Save(ctx context.Context, e models.Employee, pre store.Precondition) (bool, error) {
	if s.failure != nil {
		return false, s.failure
	}
	return s.Store.Save(ctx, e, pre)
}

func (s *scriptedStore) Patch(ctx context.Context, id int64, p models.EmployeePatch, opts store.PatchOptions) (models.Employee, error) {
	if s.failure != nil {
		return models.Employee{}, s.failure
	}
	return s.Store.Patch(ctx, id, p, opts)
}

func (s *scriptedStore) Delete(ctx context.Context, id int64, pre store.Precondition) error {
	if s.failure != nil {
		return s.failure
	}
	return s.Store.Delete(ctx, id, pre)
}

func (s *scriptedStore) Status() store.Status { return s.status }
