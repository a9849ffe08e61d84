kind: ConfigMap
sha512: {{ sha512sum "text" | trunc 16 }}
hex: {{ "text" | b32enc }} {{ "ORSXQ5A=" | b32dec }} {{ "bad!" | b64dec }}
password: {{ derivePassword 1 "long" "password" "user" "example.com" }}
url: {{ urlParse "https://user:pw@example.com:8080/path?q=1#frag" | toJson }}
join: {{ urlJoin (dict "scheme" "http" "host" "example.com" "path" "/x" "query" "a=b") }}
paths: {{ base "/a/b.txt" }} {{ dir "/a/b.txt" }} {{ ext "b.txt" }} {{ clean "/a/../b" }} {{ isAbs "/a" }} {{ osBase "/a/b" }}
