kind: ConfigMap
text: |
  case: {{ upper "abc" }} {{ lower "ABC" }} {{ title "hello big world" }} {{ untitle "Hello World" }} {{ camelcase "http_server" }} {{ snakecase "HTTPServer" }} {{ kebabcase "FooBar" }} {{ swapcase "aBc" }}
  trim: {{ trim "  a  " }}|{{ trimAll "$" "$5$" }}|{{ trimSuffix "-" "a-" }}|{{ trimPrefix "-" "-a" }}|{{ trunc 3 "abcdef" }}|{{ trunc -3 "abcdef" }}
  tests: {{ contains "b" "abc" }} {{ hasPrefix "a" "abc" }} {{ hasSuffix "a" "abc" }} {{ empty "" }} {{ empty 0 }}
  make: {{ repeat 3 "ab" }} {{ nospace "a b c" }} {{ initials "First Try" }} {{ abbrev 7 "hello world" }} {{ abbrevboth 5 10 "1234 5678 9123" }}
  wrap: {{ wrap 5 "hello world" | quote }} {{ wrapWith 5 "|" "hello world" }} {{ plural "one" "many" 2 }}
  substr: {{ substr 1 3 "abcdef" }} {{ substr -1 2 "abc" }} {{ replace "a" "b" "banana" }}
  quote: {{ quote "a" 1 nil true }} {{ cat "a" 1 true nil }} {{ ternary "yes" "no" true }} {{ coalesce 0 "" "x" }}
  more: {{ "text" | b64enc }} {{ "dGV4dA==" | b64dec }} {{ "text" | sha256sum }} {{ "text" | sha1sum }} {{ "text" | adler32sum }} {{ b32enc "a" }}
