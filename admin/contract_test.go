package admin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// contract is openapi.json.
type contract struct {
	document map[string]any
	compiler *jsonschema.Compiler
}

func readContract(t *testing.T) contract {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	must(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	must(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	must(t, compiler.AddResource("openapi.json", document))
	return contract{document.(map[string]any), compiler}
}

// at returns a part of the document, or nil.
func (c contract) at(keys ...string) any {
	var part any = c.document
	for _, key := range keys {
		object, ok := part.(map[string]any)
		if !ok {
			return nil
		}
		if reference, ok := object["$ref"].(string); ok {
			object, _ = c.at(strings.Split(strings.TrimPrefix(reference, "#/"), "/")...).(map[string]any)
		}
		part = object[key]
	}
	return part
}

// path returns the contract's path for the path of a request.
func (c contract) path(path string) string {
	path, _, _ = strings.Cut(path, "?")
	found := ""
	for template := range c.at("paths").(map[string]any) {
		pattern := regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(template), "[^/]+")
		if regexp.MustCompile("^"+pattern+"$").MatchString(path) && (found == "" || len(template) > len(found)) {
			found = template
		}
	}
	return found
}

// check compares an answer with the contract.
func (c contract) check(t *testing.T, method, path string, answer *http.Response, body []byte) {
	t.Helper()
	template, status := c.path(path), fmt.Sprint(answer.StatusCode)
	pointer := []string{"paths", template, strings.ToLower(method), "responses", status}
	if answer.StatusCode >= 400 {
		pointer = []string{"components", "responses", "Problem"}
	}
	described, ok := c.at(pointer...).(map[string]any)
	if !ok {
		t.Errorf("%s %s is answered with %s, which the contract does not have: %s", method, path, status, body)
		return
	}
	content, _ := described["content"].(map[string]any)
	mediaType := answer.Header.Get("Content-Type")
	if content == nil && len(body) == 0 {
		return
	}
	if content[mediaType] == nil {
		t.Errorf("%s %s is answered with %s of the type %q, which the contract does not have", method, path, status, mediaType)
		return
	}
	for i, key := range pointer {
		pointer[i] = strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
	}
	schema, err := c.compiler.Compile("openapi.json#/" + strings.Join(pointer, "/") + "/content/" + strings.ReplaceAll(mediaType, "/", "~1") + "/schema")
	must(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	must(t, err)
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s %s is not answered as the contract says: %v\n%s", method, path, err, body)
	}
}

// operations returns "METHOD path" of each operation.
func (c contract) operations() []string {
	var list []string
	for path, methods := range c.at("paths").(map[string]any) {
		for method := range methods.(map[string]any) {
			list = append(list, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(list)
	return list
}

func TestTheContractHasEveryRoute(t *testing.T) {
	c := readContract(t)
	var routes []string
	for _, r := range admin.Routes() {
		routes = append(routes, r[0]+" "+base+r[1])
	}
	slices.Sort(routes)
	if operations := c.operations(); !slices.Equal(operations, routes) {
		t.Errorf("the contract has\n%s\nthe server\n%s", strings.Join(operations, "\n"), strings.Join(routes, "\n"))
	}
	if c.document["openapi"] != "3.1.0" {
		t.Errorf("the contract is one of OpenAPI %v", c.document["openapi"])
	}
}

// TestTheContractIsSound checks that every schema compiles, every reference resolves, and operation ids are unique.
func TestTheContractIsSound(t *testing.T) {
	c := readContract(t)
	for name := range c.at("components", "schemas").(map[string]any) {
		if _, err := c.compiler.Compile("openapi.json#/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	var walk func(any)
	used := map[string]bool{}
	walk = func(part any) {
		switch part := part.(type) {
		case map[string]any:
			if reference, ok := part["$ref"].(string); ok {
				used[reference] = true
				if c.at(strings.Split(strings.TrimPrefix(reference, "#/"), "/")...) == nil {
					t.Errorf("%s leads nowhere", reference)
				}
			}
			for _, inner := range part {
				walk(inner)
			}
		case []any:
			for _, inner := range part {
				walk(inner)
			}
		}
	}
	walk(c.document)
	for name := range c.at("components", "schemas").(map[string]any) {
		if !used["#/components/schemas/"+name] {
			t.Errorf("no operation uses the schema %s", name)
		}
	}
	names := map[any]string{}
	for _, operation := range c.operations() {
		method, path, _ := strings.Cut(operation, " ")
		id := c.at("paths", path, strings.ToLower(method), "operationId")
		if other, taken := names[id]; id == nil || taken {
			t.Errorf("%s has the operationId %v, as %s has", operation, id, other)
		}
		names[id] = operation
	}
}

// TestIDsAreExactInEveryLanguage checks the bound of ids: JavaScript rounds integers above 2^53.
func TestIDsAreExactInEveryLanguage(t *testing.T) {
	const most = "9007199254740991" // the bound of the database's CHECKs
	c := readContract(t)
	found := 0
	for name := range c.at("components", "schemas").(map[string]any) {
		properties, _ := c.at("components", "schemas", name, "properties").(map[string]any)
		for _, id := range []string{"id", "job", "job_id", "example_id", "worker_id", "next", "after"} {
			if properties[id] == nil || c.at("components", "schemas", name, "properties", id, "type") != "integer" {
				continue
			}
			found++
			if got := fmt.Sprint(c.at("components", "schemas", name, "properties", id, "maximum")); got != most {
				t.Errorf("%s of %s is at most %s", id, name, got)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d ids were found", found)
	}
	_, err := testdb.PlainSQLite(t, testdb.SQLite(t).Path()).ExecContext(t.Context(), "INSERT INTO sqluice_jobs (id, kind, payload) VALUES (9007199254740992, 'k', '{}')")
	if err == nil {
		t.Error("the database takes a larger id")
	}
}

// TestTheContractIsServed checks that below a prefix the contract has the prefix.
func TestTheContractIsServed(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	text, err := os.ReadFile("openapi.json")
	must(t, err)
	if status, served := serve(t, client, admin.Config{}).send(http.MethodGet, "/openapi.json", ""); status != 200 || !bytes.Equal(text, served) {
		t.Errorf("the contract is served with %d: %.200s", status, served)
	}
	var document struct{ Servers []struct{ URL string } }
	_, served := serve(t, client, admin.Config{Prefix: "/queue"}).send(http.MethodGet, "/openapi.json", "")
	must(t, json.Unmarshal(served, &document))
	if len(document.Servers) != 1 || document.Servers[0].URL != "/queue" {
		t.Errorf("below a prefix the contract's servers are %v", document.Servers)
	}
}
