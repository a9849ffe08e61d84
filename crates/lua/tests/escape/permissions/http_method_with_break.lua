-- expect: there is no method
-- granted: network
http.request({url = 'http://example.com', method = 'GET / HTTP/1.1\r\n'})
