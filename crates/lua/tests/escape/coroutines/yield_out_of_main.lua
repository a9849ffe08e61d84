-- expect: attempt to yield
coroutine.yield(1)
