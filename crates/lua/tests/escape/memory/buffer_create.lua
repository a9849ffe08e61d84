-- expect: more memory than it may | the script took longer
buffer.create(2^29)
