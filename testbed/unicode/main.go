// Prints what Go knows of characters, for `cargo xtask unicode`, one fact per line:
//
//	version V                  the version of Unicode
//	letters BOUNDS…            where letters begin and end, in turns: first letter, first character after it, …
//	zeros CODES…               the digit zero of each set of decimal digits
//	character FIRST LAST CATEGORY SCRIPT    of all assigned characters; a script is `-` where there is none
//	fold CODES…                characters that are equal under `(?i)`, once per set, ascending
//	set NAME COUNT HASH        how many characters a set has, and the hash of its ranges
//	mapping NAME COUNT HASH    how many characters a mapping changes, and the hash of the pairs
//
// Codes are hexadecimal. Surrogates are left out, because valid text has none. A hash is FNV-1a with 64 bits over the codes
// as four bytes each, the least significant byte first.
package main

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const end = unicode.MaxRune + 1

func isSurrogate(c rune) bool { return c >= 0xd800 && c <= 0xdfff }

type digest struct{ codes []rune }

func (d *digest) add(codes ...rune) { d.codes = append(d.codes, codes...) }

func (d *digest) String() string {
	h := fnv.New64a()
	for _, c := range d.codes {
		h.Write([]byte{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)})
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// bounds gives the first member of each range, and the first character after it.
func bounds(has func(rune) bool) (list []rune, count int) {
	inside := false
	for c := rune(0); c < end; c++ {
		member := !isSurrogate(c) && has(c)
		if member {
			count++
		}
		if member != inside {
			list = append(list, c)
			inside = member
		}
	}
	if inside {
		list = append(list, end)
	}
	return list, count
}

func hex(codes []rune) string {
	texts := make([]string, len(codes))
	for i, c := range codes {
		texts[i] = strconv.FormatInt(int64(c), 16)
	}
	return strings.Join(texts, " ")
}

func orbit(c rune) []rune {
	list := []rune{c}
	for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
		list = append(list, next)
	}
	slices.Sort(list)
	return list
}

// fill writes a name to every member of a table.
func fill(names []string, name string, table *unicode.RangeTable) {
	for _, r := range table.R16 {
		for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
			names[c] = name
		}
	}
	for _, r := range table.R32 {
		for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
			names[c] = name
		}
	}
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintln(out, "version", unicode.Version)
	letters, _ := bounds(unicode.IsLetter)
	fmt.Fprintln(out, "letters", hex(letters))
	fmt.Fprintln(out, "zeros", hex(zeros()))
	characters(out)
	folds(out)
	sets(out)
	mapping(out, "upper", unicode.ToUpper)
	mapping(out, "lower", unicode.ToLower)
	mapping(out, "title", unicode.ToTitle)
}

// zeros relies on digits being in sets of ten.
func zeros() (list []rune) {
	for c := rune(0); c < end; c++ {
		if unicode.IsDigit(c) {
			list = append(list, c)
			c += 9
		}
	}
	return list
}

func characters(out *bufio.Writer) {
	categories, scripts := make([]string, end), make([]string, end)
	for name, table := range unicode.Categories {
		if len(name) == 2 && name != "LC" && name != "Cn" && name != "Cs" {
			fill(categories, name, table)
		}
	}
	for name, table := range unicode.Scripts {
		fill(scripts, name, table)
	}
	for first := 0; first < end; {
		last := first
		for last+1 < end && categories[last+1] == categories[first] && scripts[last+1] == scripts[first] {
			last++
		}
		if categories[first] != "" {
			fmt.Fprintf(out, "character %x %x %s %s\n", first, last, categories[first], or(scripts[first], "-"))
		}
		first = last + 1
	}
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func folds(out *bufio.Writer) {
	var all digest
	count := 0
	for c := rune(0); c < end; c++ {
		list := orbit(c)
		if len(list) == 1 {
			continue
		}
		if list[0] == c {
			fmt.Fprintln(out, "fold", hex(list))
		}
		all.add(list...)
		count++
	}
	fmt.Fprintln(out, "mapping", "fold", count, all.String())
}

func sets(out *bufio.Writer) {
	set := func(name string, has func(rune) bool) {
		list, count := bounds(has)
		var all digest
		all.add(list...)
		fmt.Fprintln(out, "set", name, count, all.String())
	}
	set("letter", unicode.IsLetter)
	set("digit", unicode.IsDigit)
	set("print", strconv.IsPrint)
	set("space", unicode.IsSpace)
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts} {
		var names []string
		for name := range tables {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			set("\\p{"+name+"}", func(c rune) bool { return unicode.Is(tables[name], c) })
		}
	}
}

func mapping(out *bufio.Writer, name string, to func(rune) rune) {
	var all digest
	count := 0
	for c := rune(0); c < end; c++ {
		if mapped := to(c); mapped != c {
			all.add(c, mapped)
			count++
		}
	}
	fmt.Fprintln(out, "mapping", name, count, all.String())
}
