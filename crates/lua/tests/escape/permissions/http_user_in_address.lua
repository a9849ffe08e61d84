-- expect: the network cannot be used here
-- granted: network
http.get('http://example.com@169.254.169.254/')
