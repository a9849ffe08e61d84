-- expect: too complex
(('('):rep(300000)):find(('(.?'):rep(20) .. ('.?'):rep(100000))
