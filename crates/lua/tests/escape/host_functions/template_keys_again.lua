-- expect: the script took
-- seconds: 0.2
while true do pcall(template.render, '{{ genPrivateKey \"ecdsa\" }}') end
