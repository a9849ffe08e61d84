-- expect: a module is named after its file below ext/lua
require('/etc/passwd')
