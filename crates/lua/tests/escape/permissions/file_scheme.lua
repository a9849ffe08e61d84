-- expect: is no address with http:// or https://
-- granted: network
http.get('file:///etc/passwd')
