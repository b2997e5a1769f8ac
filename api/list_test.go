package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

type pageView struct {
	Employees     []struct{ ID int64 }
	NextPageToken *string `json:"next_page_token"`
}

func (b *bench) list(query string) pageView {
	b.t.Helper()
	w := b.do(request{method: "GET", path: "/v1/employees?" + query})
	if w.Code != 200 {
		b.t.Fatalf("list %s: got %d %s", query, w.Code, w.Body)
	}
	var page pageView
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
		b.t.Fatal(err)
	}
	return page
}

func (p pageView) ids() string {
	var ids []string
	for _, e := range p.Employees {
		ids = append(ids, fmt.Sprint(e.ID))
	}
	return strings.Join(ids, " ")
}

func TestList_PagesByKeyWhileRowsComeAndGo(t *testing.T) {
	b := newBench(t)
	for id := 1; id <= 5; id++ {
		b.do(request{method: "PUT", path: fmt.Sprintf("/v1/employees/%d", id*10), body: `{"city":"Oslo"}`})
	}
	page := b.list("page_size=2&order_by=id")
	if page.ids() != "10 20" || page.NextPageToken == nil {
		t.Fatalf("first page: got %+v", page)
	}
	b.do(request{method: "DELETE", path: "/v1/employees/20"})
	b.do(request{method: "DELETE", path: "/v1/employees/30"})
	b.do(request{method: "PUT", path: "/v1/employees/5", body: `{}`})
	b.do(request{method: "PUT", path: "/v1/employees/45", body: `{}`})
	page = b.list("page_size=3&page_token=" + *page.NextPageToken)
	if page.ids() != "40 45 50" || page.NextPageToken != nil {
		t.Errorf("last page: got %+v", page)
	}
}

func TestList_Empty(t *testing.T) {
	w := newBench(t).do(request{method: "GET", path: "/v1/employees"})
	if w.Code != 200 || w.Body.String() != `{"employees":[]}`+"\n" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestList_FiltersByEveryProperty(t *testing.T) {
	b := newBench(t)
	b.do(request{method: "PUT", path: "/v1/employees/1", body: `{"first":"Ada","last":"L","city":"Oslo","started":"2020-01-01","ended":"2021-01-01","department":2}`})
	b.do(request{method: "PUT", path: "/v1/employees/2", body: `{"first":"Bob","last":"M","city":"Rome","started":"2020-01-02","ended":"2021-01-02","department":3}`})
	b.do(request{method: "PUT", path: "/v1/employees/3", body: `{}`})
	for query, want := range map[string]string{
		"id=2": "2", "first=Ada": "1", "last=M": "2", "city=oslo": "1", "started=2020-01-02": "2", "ended=2021-01-01": "1",
		"department=3": "2", "department=1": "3", "city=Oslo&department=2": "1", "city=Oslo&department=3": "", "department=-5": "", "": "1 2 3",
	} {
		if got := b.list(query).ids(); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}

func TestList_TokenIsRefusedWithOtherFilters(t *testing.T) {
	b := newBench(t)
	for id := 1; id <= 3; id++ {
		b.do(request{method: "PUT", path: fmt.Sprintf("/v1/employees/%d", id), body: `{"city":"Oslo"}`})
	}
	token := url.QueryEscape(*b.list("city=Oslo&page_size=1").NextPageToken)
	if got := b.list("page_token=" + token + "&city=Oslo&page_size=2").ids(); got != "2 3" {
		t.Errorf("same filter, other size: got %q", got)
	}
	for _, query := range []string{"", "city=Rome", "city=Oslo&department=1"} {
		w := b.do(request{method: "GET", path: "/v1/employees?page_token=" + token + "&" + query})
		if p := problemOf(t, w); w.Code != 400 || p.where() != "page_token invalid" {
			t.Errorf("%q: got %d %s", query, w.Code, w.Body)
		}
	}
}
