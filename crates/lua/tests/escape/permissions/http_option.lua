-- expect: there is no option `proxy`
-- granted: network
http.get('http://example.com', {proxy = 'http://127.0.0.1:1'})
