-- expect: infinite or undefined
-- granted: network
http.get('http://example.com', {timeout = 0/0})
