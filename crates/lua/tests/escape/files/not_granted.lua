-- expect: `fs` needs the permission `filesystem`
fs.read('inside.txt')
