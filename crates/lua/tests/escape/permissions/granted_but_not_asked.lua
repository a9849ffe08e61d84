-- expect: `http` needs the permission `network`
-- granted: network
http.get('http://example.com')
--== web ext/permissions.yaml
lua: [os]
