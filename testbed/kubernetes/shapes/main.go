// Prints how Kubernetes' Go types look to encoding/json, which its OpenAPI does not tell: what is a pointer, what is
// left out when empty, and what types are called in errors. `cargo xtask gen` keeps the output in the embedded API.
//
// A line that begins with a letter is a type: its number, its name and the kinds that it is the root of. The indented
// lines below it are its fields: name, flags (o: left out when empty, n: written as null when empty, z: left out when
// zero as a whole, -: always written), its number in protobuf (after those of the embedded structs that it is in),
// type, and the embedded struct that it is a field of. Structs are written as #number.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	aggregation "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type printer struct {
	numbers map[reflect.Type]int
	order   []reflect.Type
	roots   map[reflect.Type][]string
}

// Types that read and write themselves as something other than a struct.
var opaque = map[string]bool{
	"resource.Quantity": true, "intstr.IntOrString": true, "v1.Time": true, "v1.MicroTime": true, "v1.Duration": true,
	"runtime.RawExtension": true, "v1.FieldsV1": true, "v1.JSON": true, "v1.JSONSchemaPropsOrBool": true,
	"v1.JSONSchemaPropsOrArray": true, "v1.JSONSchemaPropsOrStringArray": true,
}

func (p *printer) name(t reflect.Type) string {
	if kind := t.Kind(); t.Name() != "" && (kind == reflect.Map || kind == reflect.Slice) && !opaque[t.String()] {
		return t.String() + "=" + p.shape(t)
	}
	return p.shape(t)
}

func (p *printer) shape(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + p.name(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return t.String()
		}
		return "[]" + p.name(t.Elem())
	case reflect.Map:
		return "map[" + t.Key().String() + "]" + p.name(t.Elem())
	case reflect.Struct:
		if opaque[t.String()] {
			return t.String()
		}
		return fmt.Sprintf("#%d", p.number(t))
	case reflect.Interface:
		return "interface"
	}
	if t.PkgPath() != "" {
		return t.String() + "=" + t.Kind().String()
	}
	return t.String()
}

func (p *printer) number(t reflect.Type) int {
	if number, ok := p.numbers[t]; ok {
		return number
	}
	number := len(p.order)
	p.numbers[t] = number
	p.order = append(p.order, t)
	return number
}

// The number of a field in protobuf; 0 if it has none.
func number(field reflect.StructField) string {
	parts := strings.Split(field.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return "0"
	}
	return parts[1]
}

func (p *printer) fields(t reflect.Type, numbers, inside string, out *[]string) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, ok := field.Tag.Lookup("json")
		if !ok && !field.Anonymous {
			continue
		}
		parts := strings.Split(tag, ",")
		if parts[0] == "-" {
			continue
		}
		if parts[0] == "" && field.Anonymous {
			if field.Name == "TypeMeta" {
				// The kind is told outside of the message.
				p.fields(field.Type, "0.", inside, out)
			} else {
				p.fields(field.Type, numbers+number(field)+".", inside+" "+field.Name, out)
			}
			continue
		}
		flags := ""
		if slices.Contains(parts[1:], "omitempty") && field.Type.Kind() != reflect.Struct {
			flags += "o"
		} else if field.Type.Kind() == reflect.Slice || field.Type.Kind() == reflect.Map || field.Type.Kind() == reflect.Pointer {
			flags += "n"
		}
		if slices.Contains(parts[1:], "omitzero") && field.Type.Kind() == reflect.Struct {
			flags += "z"
		}
		if flags == "" {
			flags = "-"
		}
		*out = append(*out, fmt.Sprintf(" %s %s %s %s%s", parts[0], flags, numbers+number(field), p.name(field.Type), inside))
	}
}

func main() {
	apiextensions.AddToScheme(scheme.Scheme)
	aggregation.AddToScheme(scheme.Scheme)
	p := printer{numbers: map[reflect.Type]int{}, roots: map[reflect.Type][]string{}}
	var kinds []schema.GroupVersionKind
	for kind := range scheme.Scheme.AllKnownTypes() {
		if kind.Version != "__internal" && !strings.HasSuffix(kind.Kind, "Options") && kind.Kind != "WatchEvent" && !strings.HasSuffix(kind.Kind, "List") {
			kinds = append(kinds, kind)
		}
	}
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].String() < kinds[j].String() })
	for _, kind := range kinds {
		t := scheme.Scheme.AllKnownTypes()[kind]
		p.roots[t] = append(p.roots[t], kind.GroupVersion().String()+"/"+kind.Kind)
		p.number(t)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for i := 0; i < len(p.order); i++ {
		t := p.order[i]
		fmt.Fprintf(out, "%s %s\n", t.String(), strings.Join(p.roots[t], ","))
		var fields []string
		p.fields(t, "", "", &fields)
		for _, field := range fields {
			fmt.Fprintln(out, field)
		}
	}
}
