-- expect: `http` needs the permission `network`
-- granted: network
http.get('http://example.com')
--== db ext/lua/chart.lua
local x = 1
--== db ext/permissions.yaml
lua: [network]
