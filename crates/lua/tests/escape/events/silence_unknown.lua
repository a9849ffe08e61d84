-- expect: there is no subchart `x`
events.subchart('x'):off('pre-render')
