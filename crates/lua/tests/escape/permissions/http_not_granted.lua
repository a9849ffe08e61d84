-- expect: `http` needs the permission `network`
http.get('http://169.254.169.254/')
