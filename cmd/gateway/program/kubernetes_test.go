package program

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ndbgate/ndbgate/api"
)

// The types below have what our manifests use of Kubernetes' own, and no more: a
// name that is misspelt there is unknown here, and fails.
type (
	manifest[Spec any] struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   metadata
		Spec       Spec
	}
	metadata struct {
		Name        string
		Labels      map[string]string
		Annotations map[string]string
	}
	selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}

	deploymentSpec struct {
		Selector selector
		Strategy struct {
			Type          string
			RollingUpdate struct {
				MaxSurge       int `yaml:"maxSurge"`
				MaxUnavailable int `yaml:"maxUnavailable"`
			} `yaml:"rollingUpdate"`
		}
		Template struct {
			Metadata metadata
			Spec     podSpec
		}
	}
	podSpec struct {
		AutomountServiceAccountToken  *bool `yaml:"automountServiceAccountToken"`
		EnableServiceLinks            *bool `yaml:"enableServiceLinks"`
		TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
		SecurityContext               struct {
			RunAsNonRoot   bool              `yaml:"runAsNonRoot"`
			RunAsUser      int               `yaml:"runAsUser"`
			RunAsGroup     int               `yaml:"runAsGroup"`
			SeccompProfile map[string]string `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		TopologySpreadConstraints []struct {
			MaxSkew           int      `yaml:"maxSkew"`
			TopologyKey       string   `yaml:"topologyKey"`
			WhenUnsatisfiable string   `yaml:"whenUnsatisfiable"`
			LabelSelector     selector `yaml:"labelSelector"`
		} `yaml:"topologySpreadConstraints"`
		Containers []container
		Volumes    []volume
	}
	volume struct {
		Name      string
		ConfigMap struct{ Name string } `yaml:"configMap"`
		Secret    struct {
			SecretName string `yaml:"secretName"`
			Optional   bool
			Items      []struct{ Key, Path string }
		}
	}
	container struct {
		Name  string
		Image string
		Args  []string
		Env   []struct {
			Name      string
			Value     string
			ValueFrom struct {
				SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
			} `yaml:"valueFrom"`
		}
		Ports []struct {
			Name          string
			ContainerPort int `yaml:"containerPort"`
		}
		LivenessProbe  probe `yaml:"livenessProbe"`
		ReadinessProbe probe `yaml:"readinessProbe"`
		Lifecycle      struct {
			PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
		}
		Resources struct {
			Requests, Limits map[string]string
		}
		SecurityContext struct {
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
	}
	probe struct {
		HTTPGet          struct{ Path, Port string } `yaml:"httpGet"`
		PeriodSeconds    int                         `yaml:"periodSeconds"`
		TimeoutSeconds   int                         `yaml:"timeoutSeconds"`
		FailureThreshold int                         `yaml:"failureThreshold"`
	}
	serviceSpec struct {
		Type     string
		Selector map[string]string
		Ports    []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
	}
	budgetSpec struct {
		MaxUnavailable int `yaml:"maxUnavailable"`
		Selector       selector
	}
	scalerSpec struct {
		ScaleTargetRef struct {
			APIVersion string `yaml:"apiVersion"`
			Kind, Name string
		} `yaml:"scaleTargetRef"`
		MinReplicas int `yaml:"minReplicas"`
		MaxReplicas int `yaml:"maxReplicas"`
		Metrics     []struct {
			Type     string
			Resource struct {
				Name   string
				Target struct {
					Type               string
					AverageUtilization int `yaml:"averageUtilization"`
				}
			}
		}
		Behavior struct {
			ScaleDown struct {
				StabilizationWindowSeconds int `yaml:"stabilizationWindowSeconds"`
			} `yaml:"scaleDown"`
		}
	}
	policySpec struct {
		PodSelector selector `yaml:"podSelector"`
		PolicyTypes []string `yaml:"policyTypes"`
		Ingress     []struct {
			From []struct {
				NamespaceSelector selector `yaml:"namespaceSelector"`
			}
			Ports []struct{ Port string }
		}
	}
	configMap struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   metadata
		Data       map[string]string
	}
	secret struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   metadata
		Type       string
		StringData map[string]string `yaml:"stringData"`
	}
	kustomization struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Labels     []struct{ Pairs map[string]string }
		Resources  []string
		Images     []struct {
			Name    string
			NewName string `yaml:"newName"`
			NewTag  string `yaml:"newTag"`
		}
	}
)

var manifests = filepath.Join("..", "..", "..", "deploy", "kubernetes")

func readManifest[T any](t *testing.T, file string) *T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifests, file))
	if err != nil {
		t.Fatal(err)
	}
	into := new(T)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return into
}

func wantLabels(t *testing.T, what string, got map[string]string) {
	t.Helper()
	if len(got) != 1 || got["app.kubernetes.io/name"] != "ndbgate" {
		t.Errorf("%s: got the labels %v, want those of our pods alone", what, got)
	}
}

// podConfig is what a gateway in a pod makes of its files and variables.
func podConfig(t *testing.T) (Config, *container) {
	t.Helper()
	pod := readManifest[manifest[deploymentSpec]](t, "deployment.yaml").Spec.Template.Spec
	gateway := &pod.Containers[0]
	local := mountVolumes(t, &pod)
	env := map[string]string{}
	secrets := readManifest[secret](t, "secret.example.yaml")
	for _, e := range gateway.Env {
		env[e.Name] = e.Value
		if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" {
			value, ok := secrets.StringData[ref.Key]
			if !ok || ref.Name != secrets.Metadata.Name {
				t.Errorf("%s: secret.example.yaml has no %s of %s", e.Name, ref.Key, ref.Name)
			}
			env[e.Name] = value
		}
	}
	if gateway.Args[0] != "serve" {
		t.Errorf("got the command %v, want serve", gateway.Args)
	}
	var args []string
	for _, arg := range gateway.Args[1:] {
		args = append(args, local.Replace(arg))
	}
	cfg, err := Load(args, lookup(env))
	if err != nil {
		t.Fatal(err)
	}
	return cfg, gateway
}

// mountVolumes makes the files that the gateway finds in its pod, and returns what
// turns their paths into those here.
func mountVolumes(t *testing.T, pod *podSpec) *strings.Replacer {
	t.Helper()
	config := readManifest[configMap](t, "configmap.yaml")
	secrets := readManifest[secret](t, "secret.example.yaml")
	dir := t.TempDir()
	files := map[string]map[string]string{} // of each volume
	for _, v := range pod.Volumes {
		switch {
		case v.ConfigMap.Name == config.Metadata.Name:
			files[v.Name] = config.Data
		case v.Secret.SecretName == secrets.Metadata.Name:
			files[v.Name] = map[string]string{}
			for _, item := range v.Secret.Items {
				files[v.Name][item.Path] = secrets.StringData[item.Key]
			}
		default:
			t.Errorf("volume %s is of nothing that there is", v.Name)
		}
	}
	var paths []string
	for _, mount := range pod.Containers[0].VolumeMounts {
		if !mount.ReadOnly || files[mount.Name] == nil {
			t.Errorf("got the mount %+v, want one of a volume, read only", mount)
		}
		paths = append(paths, mount.MountPath, filepath.Join(dir, mount.Name))
	}
	local := strings.NewReplacer(paths...)
	for volume, texts := range files {
		if err := os.Mkdir(filepath.Join(dir, volume), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range texts {
			if err := os.WriteFile(filepath.Join(dir, volume, name), []byte(local.Replace(text)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return local
}

func TestKubernetes_GatewayTakesItsConfiguration(t *testing.T) {
	cfg, gateway := podConfig(t)
	if len(cfg.NDBNodeIDs) != 0 {
		t.Errorf("got the node IDs %v, want none: all pods share them", cfg.NDBNodeIDs)
	}
	ports := map[string]int{}
	for _, p := range gateway.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for name, address := range map[string]string{"http": cfg.Listen, "admin": cfg.AdminListen} {
		if want := ":" + strconv.Itoa(ports[name]); address != want {
			t.Errorf("port %s: got %s in the configuration, want %s", name, address, want)
		}
	}
	for _, p := range []struct {
		probe
		path string
	}{{gateway.LivenessProbe, "/livez"}, {gateway.ReadinessProbe, "/readyz"}} {
		if p.HTTPGet.Port != "admin" || p.HTTPGet.Path != p.path || p.TimeoutSeconds < 2 {
			t.Errorf("got the probe %+v, want %s of the admin port with more time than a look at the backends takes", p.probe, p.path)
		}
	}
}

func TestKubernetes_PodsMayDrainAndAreLockedDown(t *testing.T) {
	cfg, gateway := podConfig(t)
	pod := readManifest[manifest[deploymentSpec]](t, "deployment.yaml").Spec.Template.Spec
	preStop := time.Duration(gateway.Lifecycle.PreStop.Sleep.Seconds) * time.Second
	least := preStop + api.BatchTimeout(cfg.RequestTimeout) + drainGrace + adminDrain
	if got := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second; got < least || preStop == 0 {
		t.Errorf("got %v until a pod is killed, want %v at least", got, least)
	}
	context := pod.SecurityContext
	if !context.RunAsNonRoot || context.RunAsUser == 0 || context.SeccompProfile["type"] != "RuntimeDefault" || *pod.AutomountServiceAccountToken {
		t.Errorf("got the pod's security %+v", context)
	}
	own := gateway.SecurityContext
	if *own.AllowPrivilegeEscalation || !own.ReadOnlyRootFilesystem || !slices.Equal(own.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("got the container's security %+v", own)
	}
	if gateway.Resources.Requests["cpu"] == "" || gateway.Resources.Limits["memory"] == "" {
		t.Errorf("got the resources %+v, want requests of processor and a limit of memory", gateway.Resources)
	}
}

func TestKubernetes_EverythingMeansTheSamePods(t *testing.T) {
	deployment := readManifest[manifest[deploymentSpec]](t, "deployment.yaml")
	service := readManifest[manifest[serviceSpec]](t, "service.yaml")
	budget := readManifest[manifest[budgetSpec]](t, "poddisruptionbudget.yaml")
	scaler := readManifest[manifest[scalerSpec]](t, "horizontalpodautoscaler.yaml")
	policy := readManifest[manifest[policySpec]](t, "networkpolicy.yaml")

	wantLabels(t, "template", deployment.Spec.Template.Metadata.Labels)
	wantLabels(t, "deployment", deployment.Spec.Selector.MatchLabels)
	wantLabels(t, "spread", deployment.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels)
	wantLabels(t, "service", service.Spec.Selector)
	wantLabels(t, "disruption budget", budget.Spec.Selector.MatchLabels)
	wantLabels(t, "network policy", policy.Spec.PodSelector.MatchLabels)
	target := scaler.Spec.ScaleTargetRef
	if target.Kind != deployment.Kind || target.Name != deployment.Metadata.Name || target.APIVersion != deployment.APIVersion {
		t.Errorf("got the autoscaler of %+v, want that of the deployment", target)
	}

	named := map[string]bool{}
	for _, p := range deployment.Spec.Template.Spec.Containers[0].Ports {
		named[p.Name] = true
	}
	for _, p := range service.Spec.Ports {
		if !named[p.TargetPort] {
			t.Errorf("the service leads to the port %q, which no pod has", p.TargetPort)
		}
	}
	for _, rule := range policy.Spec.Ingress {
		for _, p := range rule.Ports {
			if !named[p.Port] {
				t.Errorf("the policy is about the port %q, which no pod has", p.Port)
			}
		}
	}
}

// TestKubernetes_ReplicasHaveSlots counts the [api] sections that deploy/config.ini
// leaves to gateways.
func TestKubernetes_ReplicasHaveSlots(t *testing.T) {
	scaler := readManifest[manifest[scalerSpec]](t, "horizontalpodautoscaler.yaml")
	surge := readManifest[manifest[deploymentSpec]](t, "deployment.yaml").Spec.Strategy.RollingUpdate.MaxSurge
	config, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "config.ini"))
	if err != nil {
		t.Fatal(err)
	}
	slots := strings.Count(string(config), "\n[api]\n")
	if need := scaler.Spec.MaxReplicas + surge; need > slots || scaler.Spec.MinReplicas < 2 {
		t.Errorf("got %d to %d replicas and a surge of %d, want two at least and no more than the %d slots of config.ini",
			scaler.Spec.MinReplicas, scaler.Spec.MaxReplicas, surge, slots)
	}
}

func TestKubernetes_KustomizationHasEveryManifest(t *testing.T) {
	k := readManifest[kustomization](t, "kustomization.yaml")
	files, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, file := range files {
		if name := filepath.Base(file); name != "kustomization.yaml" && name != "secret.example.yaml" {
			want = append(want, name)
		}
	}
	if got := slices.Sorted(slices.Values(k.Resources)); !slices.Equal(got, want) {
		t.Errorf("got the resources %v, want %v", got, want)
	}
	image := readManifest[manifest[deploymentSpec]](t, "deployment.yaml").Spec.Template.Spec.Containers[0].Image
	if k.Images[0].Name != image {
		t.Errorf("got the image %s, want the deployment's %s", k.Images[0].Name, image)
	}
}
