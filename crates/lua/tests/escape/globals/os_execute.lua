-- expect: `os` needs the permission `os`
os.execute('id')
