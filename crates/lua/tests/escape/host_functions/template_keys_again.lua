-- expect: the script took
-- seconds: 0.5
while true do pcall(template.render, '{{ genPrivateKey \"ecdsa\" }}') end
