package deploy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

const folder = "../../../deploy"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files returns the files of a folder below deploy, of which there must be some.
func files(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(pattern)))
	must(t, err)
	if len(list) == 0 {
		t.Fatalf("there is no %s", pattern)
	}
	return list
}

// systemd itself finds no fault in the units, whatever it finds in those of other packages. The command need not be installed: the test's own program stands for it.
func TestUnits(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("NOT TESTED with systemd: %v", err)
	}
	self, err := os.Executable()
	must(t, err)
	for _, unit := range files(t, "systemd/*.service") {
		text, err := os.ReadFile(unit)
		must(t, err)
		copied := filepath.Join(t.TempDir(), filepath.Base(unit))
		must(t, os.WriteFile(copied, bytes.ReplaceAll(text, []byte("/usr/local/bin/sqluice "), []byte(self+" ")), 0o644))
		output, err := exec.CommandContext(t.Context(), verify, "verify", "--man=no", "--recursive-errors=no", copied).CombinedOutput()
		if err != nil || len(output) > 0 {
			t.Errorf("systemd-analyze verify %s: %v\n%s", unit, err, output)
		}
	}
}

// The units run as the user that the file of sysusers makes.
func TestUserOfTheUnits(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "systemd/sqluice.sysusers"))
	must(t, err)
	if !bytes.Contains(text, []byte("\nu sqluice ")) {
		t.Errorf("sqluice.sysusers makes no user sqluice:\n%s", text)
	}
	for _, unit := range files(t, "systemd/*.service") {
		text, err := os.ReadFile(unit)
		must(t, err)
		if !bytes.Contains(text, []byte("\nUser=sqluice\n")) || bytes.Contains(text, []byte("DynamicUser")) {
			t.Errorf("%s does not run as the user sqluice", unit)
		}
	}
}

// The notice names the linked modules and the embedded parts of the pages; without a list of the modules there is no notice.
func TestNotice(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skipf("NOT TESTED: the notice of licences: %v", err)
	}
	out := filepath.Join(t.TempDir(), "NOTICE")
	run := func(environment ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), sh, filepath.Join(folder, "notice.sh"), out)
		cmd.Env = append(os.Environ(), environment...)
		return cmd.CombinedOutput()
	}
	if output, err := run(); err != nil {
		t.Fatalf("notice.sh: %v\n%s", err, output)
	}
	text, err := os.ReadFile(out)
	must(t, err)
	for _, part := range []string{"\n== Go go1.", "\n== modernc.org/sqlite v", "\n== github.com/jackc/pgx/v5 v", "\n== github.com/inconshreveable/mousetrap v", "\n== uplot-"} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("the notice has no part %q", part)
		}
	}
	if output, err := run("GOFLAGS=-mod=vendor"); err == nil { // which go list refuses
		t.Errorf("notice.sh hides that go list fails:\n%s", output)
	}
}

// object is a manifest, and the pod that it makes, if it makes one.
type object struct {
	kind string
	into any
	pod  func() *core.PodSpec
}

func objectOf(kind string) *object {
	switch kind {
	case "Secret":
		return &object{kind, &core.Secret{}, nil}
	case "Service":
		return &object{kind, &core.Service{}, nil}
	case "Deployment":
		o := &apps.Deployment{}
		return &object{kind, o, func() *core.PodSpec { return &o.Spec.Template.Spec }}
	case "StatefulSet":
		o := &apps.StatefulSet{}
		return &object{kind, o, func() *core.PodSpec { return &o.Spec.Template.Spec }}
	case "Job":
		o := &batch.Job{}
		return &object{kind, o, func() *core.PodSpec { return &o.Spec.Template.Spec }}
	}
	return nil
}

// manifests returns the objects of a file, each decoded into its type of Kubernetes, which must have every field.
func manifests(t *testing.T, file string) (list []*object) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	for {
		document := make([]byte, len(text))
		n, err := documents.Read(document)
		if errors.Is(err, io.EOF) {
			return list
		}
		must(t, err)
		var head meta.TypeMeta
		must(t, strict.Unmarshal(document[:n], &head))
		o := objectOf(head.Kind)
		if o == nil {
			t.Fatalf("%s has an object of the kind %q", file, head.Kind)
		}
		if err := strict.UnmarshalStrict(document[:n], o.into); err != nil {
			t.Fatalf("%s: %s: %v", file, head.Kind, err)
		}
		list = append(list, o)
	}
}

// stopsWithin is the default time, in seconds, that a worker takes to stop: Grace and StopTimeout.
const stopsWithin = 25

// The manifests have only fields that Kubernetes knows, give a worker the time that its stop takes, and ask it by its probes.
func TestManifests(t *testing.T) {
	workers := 0
	for _, file := range files(t, "kubernetes/*.yaml") {
		for _, o := range manifests(t, file) {
			if o.pod == nil {
				continue
			}
			pod := o.pod()
			if set, ok := o.into.(*apps.StatefulSet); ok && *set.Spec.Replicas != 1 {
				t.Errorf("%s: a SQLite queue has %d replicas", file, *set.Spec.Replicas)
			}
			for _, c := range pod.Containers {
				if c.Resources.Limits.Memory().IsZero() || c.SecurityContext == nil || *c.SecurityContext.AllowPrivilegeEscalation {
					t.Errorf("%s: container %s has no limit of memory, or may escalate", file, c.Name)
				}
				if c.Args[0] != "work" && c.Args[0] != "serve" {
					continue
				}
				at := slices.Index(c.Args, "--probes")
				if at < 0 || c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" ||
					c.Args[at+1] != ":"+c.ReadinessProbe.HTTPGet.Port.String() || c.LivenessProbe.HTTPGet.Port != c.ReadinessProbe.HTTPGet.Port {
					t.Errorf("%s: the probes of container %s are not where --probes answers", file, c.Name)
				}
				if c.Args[0] == "work" {
					workers++
					if pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds <= stopsWithin {
						t.Errorf("%s: a worker has not the %d s for its stop", file, stopsWithin)
					}
				}
			}
		}
	}
	if workers != 2 {
		t.Errorf("%d containers are workers", workers)
	}
}

// The Dockerfile is one, and its linter finds nothing.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "Dockerfile"))
	must(t, err)
	parsed, err := parser.Parse(bytes.NewReader(text))
	must(t, err)
	lint := linter.New(&linter.Config{Warn: func(rule, description, _, message string, _ []parser.Range) {
		t.Errorf("%s: %s (%s)", rule, message, description)
	}})
	stages, _, err := instructions.Parse(parsed.AST, lint)
	must(t, err)
	last := stages[len(stages)-1]
	if last.BaseName != "scratch" {
		t.Errorf("the image is made from %s", last.BaseName)
	}
	if !slices.ContainsFunc(last.Commands, func(c instructions.Command) bool {
		user, ok := c.(*instructions.UserCommand)
		return ok && !strings.HasPrefix(user.User, "0") && user.User != "root"
	}) {
		t.Error("the image's user is root")
	}
}
