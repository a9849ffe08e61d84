-- expect: `os` needs the permission `os`
os.getenv('HOME')
