-- expect: without control characters
-- granted: network
http.get('http://example.com', {headers = {['a\r\nb'] = 'c'}})
