-- expect: too complex
(('('):rep(400)):find(('(.?'):rep(20) .. ('.?'):rep(100000))
