-- expect: more memory than it may
buffer.create(2^29)
