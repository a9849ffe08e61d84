-- expect: there is no method
-- granted: network
http.request({url = 'http://example.com', method = 'CONNECT'})
