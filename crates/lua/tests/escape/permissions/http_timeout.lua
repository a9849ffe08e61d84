-- expect: at most 30 seconds
-- granted: network
http.get('http://example.com', {timeout = 1e9})
