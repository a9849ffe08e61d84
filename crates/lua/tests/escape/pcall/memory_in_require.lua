-- expect: more memory than it may
pcall(require, 'big')
--== web ext/lua/big.lua
return buffer.create(2^29)
