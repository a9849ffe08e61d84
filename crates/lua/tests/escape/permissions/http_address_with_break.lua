-- expect: is no address with http:// or https://
-- granted: network
http.get('http://example.com/ HTTP/1.1\r\nHost: other')
