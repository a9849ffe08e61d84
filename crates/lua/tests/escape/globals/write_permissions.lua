-- expect: attempt to modify a readonly table
permissions.network = true
http.get('http://example.com')
