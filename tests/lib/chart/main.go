// Renders charts/tabella where there is no helm: the same engine, Go's text/template, with the functions that the
// chart uses. Reads {"chart": FOLDER, "values": ..., "release": ..., "about": Chart.yaml} as JSON and prints the
// manifests as helm template does; a function that is not below is an error. tests/suite/chart holds the output
// against helm's where helm is there.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"
)

type object = map[string]any

type files struct{ folder string }

func (f files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(f.folder, name))
	if err != nil {
		return "" // as helm
	}
	return string(text)
}

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func copied(v any) any {
	var out any
	if err := json.Unmarshal([]byte(toJSON(v)), &out); err != nil {
		panic(err)
	}
	return out
}

func scalar(v any) string {
	switch x := v.(type) {
	case object:
		return "{}"
	case []any:
		return "[]"
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1e15 {
			return fmt.Sprintf("%d", int64(x))
		}
	}
	return toJSON(v)
}

func length(v any) int {
	switch x := v.(type) {
	case object:
		return len(x)
	case []any:
		return len(x)
	}
	return 0
}

func names(m object) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Lines of v as block YAML, each after `in` spaces.
func yaml(v any, in int) []string {
	pad := strings.Repeat(" ", in)
	if length(v) == 0 {
		return []string{pad + scalar(v)}
	}
	var out []string
	if m, is := v.(object); is {
		for _, k := range names(m) {
			if length(m[k]) == 0 {
				out = append(out, pad+toJSON(k)+": "+scalar(m[k]))
			} else {
				out = append(append(out, pad+toJSON(k)+":"), yaml(m[k], in+2)...)
			}
		}
		return out
	}
	for _, item := range v.([]any) {
		lines := yaml(item, in+2)
		lines[0] = pad + "- " + lines[0][in+2:]
		out = append(out, lines...)
	}
	return out
}

// Values as JSON would have them: what templates made are Go's own lists and numbers.
func toYAML(v any) string { return strings.Join(yaml(copied(v), 0), "\n") }

// over: what src has wins; else what dst has.
func merge(dst, src object, over bool) object {
	for k, v := range src {
		old, has := dst[k]
		inner, isMap := old.(object)
		if more, both := v.(object); both && isMap {
			merge(inner, more, over)
		} else if over || !has || empty(old) {
			dst[k] = v
		}
	}
	return dst
}

func empty(v any) bool {
	truth, _ := template.IsTrue(v)
	return v == nil || !truth
}

func number(v any) int64 {
	switch x := v.(type) {
	case int:
		return int64(x)
	case int64:
		return x
	case float64:
		return int64(x)
	case string:
		var n int64
		fmt.Sscan(x, &n)
		return n
	}
	return 0
}

func items(v any) []any {
	switch x := v.(type) {
	case []any:
		return x
	case []string:
		out := make([]any, len(x))
		for i := range x {
			out[i] = x[i]
		}
		return out
	}
	return nil
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func nindent(n int, s string) string {
	pad := "\n" + strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(s, "\n", pad)
}

var functions = template.FuncMap{
	"add": func(xs ...any) (n int64) {
		for _, x := range xs {
			n += number(x)
		}
		return
	},
	"mul": func(x any, xs ...any) int64 {
		n := number(x)
		for _, y := range xs {
			n *= number(y)
		}
		return n
	},
	"max": func(x any, xs ...any) int64 {
		n := number(x)
		for _, y := range xs {
			if number(y) > n {
				n = number(y)
			}
		}
		return n
	},
	"int":    func(x any) int { return int(number(x)) },
	"append": func(l any, x any) []any { return append(append([]any{}, items(l)...), x) },
	"concat": func(ls ...any) (out []any) {
		for _, l := range ls {
			out = append(out, items(l)...)
		}
		return
	},
	"deepCopy": copied,
	"default": func(d any, v ...any) any {
		if len(v) == 0 || empty(v[0]) {
			return d
		}
		return v[0]
	},
	"dict": func(kv ...any) object {
		out := object{}
		for i := 0; i+1 < len(kv); i += 2 {
			out[kv[i].(string)] = kv[i+1]
		}
		return out
	},
	"fail":  func(why string) (string, error) { return "", fmt.Errorf("%s", why) },
	"first": func(l any) any { return items(l)[0] },
	"fromJson": func(s string) (out object) {
		if err := json.Unmarshal([]byte(s), &out); err != nil {
			panic(err)
		}
		return
	},
	"get": func(m object, k string) any {
		if v, has := m[k]; has {
			return v
		}
		return ""
	},
	"has": func(x any, l any) bool {
		for _, y := range items(l) {
			if x == y {
				return true
			}
		}
		return false
	},
	"hasKey": func(m object, k string) bool { _, has := m[k]; return has },
	"join": func(sep string, l any) string {
		var out []string
		for _, x := range items(l) {
			out = append(out, text(x))
		}
		return strings.Join(out, sep)
	},
	"keys": func(m object) []string { return names(m) },
	"kindIs": func(kind string, v any) bool {
		_, isText := v.(string)
		return kind == "string" && isText
	},
	"last":  func(l any) any { x := items(l); return x[len(x)-1] },
	"list":  func(xs ...any) []any { return xs },
	"merge": func(dst, src object) object { return merge(dst, src, false) },
	"mergeOverwrite": func(dst object, more ...object) object {
		for _, src := range more {
			merge(dst, src, true)
		}
		return dst
	},
	"nindent": nindent,
	"omit": func(m object, ks ...string) object {
		out := object{}
		for k, v := range m {
			out[k] = v
		}
		for _, k := range ks {
			delete(out, k)
		}
		return out
	},
	"quote":   func(v any) string { return fmt.Sprintf("%q", text(v)) },
	"replace": func(old, new, s string) string { return strings.ReplaceAll(s, old, new) },
	"required": func(why string, v any) (any, error) {
		if v == nil || v == "" {
			return nil, fmt.Errorf("%s", why)
		}
		return v, nil
	},
	"set":       func(m object, k string, v any) object { m[k] = v; return m },
	"sha256sum": func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) },
	"sortAlpha": func(l any) []any {
		sorted := append([]any{}, items(l)...)
		sort.SliceStable(sorted, func(i, j int) bool { return text(sorted[i]) < text(sorted[j]) })
		return sorted
	},
	"splitList": func(sep, s string) []string { return strings.Split(s, sep) },
	"ternary": func(yes, no any, which bool) any {
		if which {
			return yes
		}
		return no
	},
	"toJson":     toJSON,
	"toString":   text,
	"toYaml":     toYAML,
	"trimPrefix": func(p, s string) string { return strings.TrimPrefix(s, p) },
	"trimSuffix": func(p, s string) string { return strings.TrimSuffix(s, p) },
	"trunc": func(n int, s string) string {
		if len(s) > n {
			return s[:n]
		}
		return s
	},
	"upper": strings.ToUpper,
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func main() {
	var in struct {
		Chart                  string
		Values, Release, About object
	}
	must(json.NewDecoder(os.Stdin).Decode(&in))
	all := template.New("chart")
	context := object{"Values": in.Values, "Release": in.Release, "Chart": in.About, "Files": files{in.Chart}}
	functions["include"] = func(name string, ctx any) (string, error) {
		var out bytes.Buffer
		err := all.ExecuteTemplate(&out, name, ctx)
		return out.String(), err
	}
	functions["tpl"] = func(s string, ctx any) (string, error) {
		var out bytes.Buffer
		t, err := template.Must(all.Clone()).New("tpl").Parse(s)
		if err == nil {
			err = t.Execute(&out, ctx)
		}
		return out.String(), err
	}
	all.Funcs(functions)
	var pages []string
	must(filepath.Walk(filepath.Join(in.Chart, "templates"), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(path, ".tpl") {
			pages = append(pages, path)
		}
		_, err = all.New(path).Parse(string(body))
		return err
	}))
	for _, page := range pages {
		var out bytes.Buffer
		must(all.ExecuteTemplate(&out, page, context))
		rendered := strings.ReplaceAll(out.String(), "<no value>", "")
		if strings.HasSuffix(page, "NOTES.txt") {
			fmt.Fprint(os.Stderr, rendered)
		} else {
			fmt.Printf("---\n# Source: %s\n%s\n", page, rendered)
		}
	}
}
