-- expect: without control characters
-- granted: network
http.request({url = 'http://example.com', headers = {a = 'b\r\nc: d'}})
