package expression

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
)

func regexFunctions() map[string][]overload {
	text := cel.StringType
	return map[string][]overload{
		"find": {method("string_find_string", text, text, text)},
		"findAll": {
			method("string_find_all_string", cel.ListType(text), text, text),
			method("string_find_all_string_int", cel.ListType(text), text, text, cel.IntType),
		},
	}
}

func listFunctions() map[string][]overload {
	element := cel.TypeParamType("A")
	of := func(form string, result *cel.Type, elements ...*cel.Type) []overload {
		var found []overload
		for _, e := range elements {
			name := strings.ToLower(strings.TrimPrefix(e.TypeName(), "google.protobuf."))
			r := result
			if r == nil {
				r = e
			}
			found = append(found, method(fmt.Sprintf(form, name), r, cel.ListType(e)))
		}
		return found
	}
	numbers := []*cel.Type{cel.IntType, cel.UintType, cel.DoubleType, cel.DurationType}
	return map[string][]overload{
		"isSorted":    of("list_%s_is_sorted_bool", cel.BoolType, ordered...),
		"sum":         of("list_%[1]s_sum_%[1]s", nil, numbers...),
		"max":         of("list_%[1]s_max_%[1]s", nil, ordered...),
		"min":         of("list_%[1]s_min_%[1]s", nil, ordered...),
		"indexOf":     {method("list_a_index_of_int", cel.IntType, cel.ListType(element), element)},
		"lastIndexOf": {method("list_a_last_index_of_int", cel.IntType, cel.ListType(element), element)},
	}
}

func urlFunctions() map[string][]overload {
	text, url := cel.StringType, cel.ObjectType("kubernetes.URL")
	return map[string][]overload{
		"url":            {function("string_to_url", url, text)},
		"isURL":          {function("is_url_string", cel.BoolType, text)},
		"getScheme":      {method("url_get_scheme", text, url)},
		"getHost":        {method("url_get_host", text, url)},
		"getHostname":    {method("url_get_hostname", text, url)},
		"getPort":        {method("url_get_port", text, url)},
		"getEscapedPath": {method("url_get_escaped_path", text, url)},
		"getQuery":       {method("url_get_query", cel.MapType(text, cel.ListType(text)), url)},
	}
}

func networkFunctions() map[string][]overload {
	text, yes := cel.StringType, cel.BoolType
	ip, cidr := cel.OpaqueType("net.IP"), cel.OpaqueType("net.CIDR")
	return map[string][]overload{
		"ip":                   {function("string_to_ip", ip, text), method("cidr_ip", ip, cidr)},
		"isIP":                 {function("is_ip", yes, text)},
		"ip.isCanonical":       {function("ip_is_canonical", yes, text)},
		"family":               {method("ip_family", cel.IntType, ip)},
		"isUnspecified":        {method("ip_is_unspecified", yes, ip)},
		"isLoopback":           {method("ip_is_loopback", yes, ip)},
		"isLinkLocalMulticast": {method("ip_is_link_local_multicast", yes, ip)},
		"isLinkLocalUnicast":   {method("ip_is_link_local_unicast", yes, ip)},
		"isGlobalUnicast":      {method("ip_is_global_unicast", yes, ip)},
		"cidr":                 {function("string_to_cidr", cidr, text)},
		"isCIDR":               {function("is_cidr", yes, text)},
		"containsIP":           {method("cidr_contains_ip_string", yes, cidr, text), method("cidr_contains_ip_ip", yes, cidr, ip)},
		"containsCIDR":         {method("cidr_contains_cidr_string", yes, cidr, text), method("cidr_contains_cidr", yes, cidr, cidr)},
		"prefixLength":         {method("cidr_prefix_length", cel.IntType, cidr)},
		"masked":               {method("cidr_masked", cidr, cidr)},
		"string":               {function("ip_to_string", text, ip), function("cidr_to_string", text, cidr)},
	}
}

func quantityFunctions() map[string][]overload {
	quantity := cel.ObjectType("kubernetes.Quantity")
	return map[string][]overload{
		"quantity":           {function("string_to_quantity", quantity, cel.StringType)},
		"isQuantity":         {function("is_quantity_string", cel.BoolType, cel.StringType)},
		"sign":               {function("quantity_sign", cel.IntType, quantity)},
		"isGreaterThan":      {method("quantity_is_greater_than", cel.BoolType, quantity, quantity)},
		"isLessThan":         {method("quantity_is_less_than", cel.BoolType, quantity, quantity)},
		"compareTo":          {method("quantity_compare_to", cel.IntType, quantity, quantity)},
		"asApproximateFloat": {method("quantity_get_float", cel.DoubleType, quantity)},
		"asInteger":          {method("quantity_get_int", cel.IntType, quantity)},
		"isInteger":          {method("quantity_is_integer", cel.BoolType, quantity)},
		"add":                {method("quantity_add", quantity, quantity, quantity), method("quantity_add_int", quantity, quantity, cel.IntType)},
		"sub":                {method("quantity_sub", quantity, quantity, quantity), method("quantity_sub_int", quantity, quantity, cel.IntType)},
	}
}

func semverFunctions() map[string][]overload {
	text, semver := cel.StringType, cel.ObjectType("kubernetes.Semver")
	return map[string][]overload{
		"semver":        {function("string_to_semver", semver, text), function("string_bool_to_semver", semver, text, cel.BoolType)},
		"isSemver":      {function("is_semver_string", cel.BoolType, text), function("is_semver_string_bool", cel.BoolType, text, cel.BoolType)},
		"isGreaterThan": {method("semver_is_greater_than", cel.BoolType, semver, semver)},
		"isLessThan":    {method("semver_is_less_than", cel.BoolType, semver, semver)},
		"compareTo":     {method("semver_compare_to", cel.IntType, semver, semver)},
		"major":         {method("semver_major", cel.IntType, semver)},
		"minor":         {method("semver_minor", cel.IntType, semver)},
		"patch":         {method("semver_patch", cel.IntType, semver)},
	}
}

func formatFunctions() map[string][]overload {
	format := cel.ObjectType("kubernetes.NamedFormat")
	functions := map[string][]overload{
		"validate":     {method("format-validate", cel.OptionalType(cel.ListType(cel.StringType)), format, cel.StringType)},
		"format.named": {function("format-named", cel.OptionalType(format), cel.StringType)},
	}
	for _, name := range []string{
		"dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix",
		"dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime",
	} {
		functions["format."+name] = []overload{function("format."+name, format)}
	}
	return functions
}

// authorizerFunctions are in the environment, although a match condition of an exception has no
// authorizer.
func authorizerFunctions() map[string][]overload {
	text := cel.StringType
	object := func(name string) *cel.Type { return cel.ObjectType("kubernetes.authorization." + name) }
	authorizer, path, group, resource, decision := object("Authorizer"), object("PathCheck"), object("GroupCheck"), object("ResourceCheck"), object("Decision")
	return map[string][]overload{
		"path":           {method("authorizer_path", path, authorizer, text)},
		"group":          {method("authorizer_group", group, authorizer, text)},
		"serviceAccount": {method("authorizer_serviceaccount", authorizer, authorizer, text, text)},
		"resource":       {method("groupcheck_resource", resource, group, text)},
		"subresource":    {method("resourcecheck_subresource", resource, resource, text)},
		"namespace":      {method("resourcecheck_namespace", resource, resource, text)},
		"name":           {method("resourcecheck_name", resource, resource, text)},
		"check":          {method("pathcheck_check", decision, path, text), method("resourcecheck_check", decision, resource, text)},
		"errored":        {method("decision_errored", cel.BoolType, decision)},
		"error":          {method("decision_error", text, decision)},
		"allowed":        {method("decision_allowed", cel.BoolType, decision)},
		"reason":         {method("decision_reason", text, decision)},
		"fieldSelector":  {method("authorizer_fieldselector", resource, resource, text)},
		"labelSelector":  {method("authorizer_labelselector", resource, resource, text)},
	}
}
