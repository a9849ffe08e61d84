-- expect: a function cannot be kept
json.encode({print})
