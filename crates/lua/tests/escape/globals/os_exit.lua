-- expect: `os` needs the permission `os`
os.exit(0)
