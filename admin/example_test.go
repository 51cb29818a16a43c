package admin_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// A service mounts the dashboard and the API below a path that it chooses.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(folder)
	store, err := sqlite.Open(ctx, filepath.Join(folder, "jobs.db"))
	check(err)
	defer store.Close()
	client := jobs.New(store)
	_, err = client.Migrate(ctx)
	check(err)

	handler, err := admin.New(client, admin.Config{Prefix: "/queue", Token: "a long and secret token"})
	check(err)
	mux := http.NewServeMux()
	mux.Handle("/queue/", handler)
	server := httptest.NewServer(mux)
	defer server.Close()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/queue/api/admin/queues", nil)
	check(err)
	for _, token := range []string{"", "a long and secret token"} {
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := server.Client().Do(request)
		check(err)
		_, err = io.Copy(io.Discard, response.Body)
		check(err)
		check(response.Body.Close())
		fmt.Println(response.Status)
	}
	// Output:
	// 401 Unauthorized
	// 200 OK
}

// A service puts its name, a way back and a log out around the pages.
func ExampleConfig() {
	c := admin.Config{Prefix: "/queue", Service: "Orders", BackURL: "/admin", LogOutURL: "javascript:alert(1)"}
	fmt.Println(c.Validate())
	c.LogOutURL = "/oauth2/sign_out?rd=/"
	fmt.Println(c.Validate())
	// Output:
	// LogOutURL "javascript:alert(1)" must be a path such as /admin, or an http or https URL, of at most 2000 bytes
	// <nil>
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
